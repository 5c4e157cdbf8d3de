import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { blockClaimOf } from '../blocking.js';
import { createJob, idsOf, lease, newQueue } from '../kit.js';
import { createSilently } from '../silent.js';

/**
 * While claims are slow they begin where the last one ended and not at the head of the queue. Nothing may be lost by
 * that, nor come out of order within one answer.
 */
describe('a queue whose claims are slow', async () => {
  const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });

  // How long claims take, and how long floors hold, is measured with this clock. It moves when it is told to.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  /** Two claims in a row that take long, so that the next one starts from a floor. */
  async function slowDown(queue: string): Promise<void> {
    for (let i = 0; i < 2; i++) {
      const id = await createJob(a, queue);
      const block = await blockClaimOf(database, id);
      const claiming = lease(worker, queue);
      await block.held();
      vi.advanceTimersByTime(200);
      await block.release();
      expect(idsOf(await claiming)).toEqual([id]);
    }
  }

  it('still lists one answer in order, and finds what lies behind the floor', async () => {
    const queue = newQueue();
    await slowDown(queue);
    const fresh = await createSilently(database, queue);
    const old = await createSilently(database, queue, { dueMinutesAgo: 10 });
    const urgent = await createSilently(database, queue, { dueMinutesAgo: 5, priority: 7 });
    const older = await createSilently(database, queue, { dueMinutesAgo: 20 });
    expect(idsOf(await lease(worker, queue, { max_jobs: 100 }))).toEqual([urgent, older, old, fresh]);
  });

  it('is claimed exactly again before long, however much is in front of the floor', async () => {
    const queue = newQueue();
    await slowDown(queue);
    const old = await createSilently(database, queue, { dueMinutesAgo: 10 });
    await until(
      async () => {
        await createJob(a, queue);
        vi.advanceTimersByTime(100);
        return idsOf(await lease(worker, queue)).includes(old);
      },
      { what: 'a claim that looks behind the floor', everyMs: 0 },
    );
  });

  it('delivers what it has claimed, also if the look behind the floor fails', async () => {
    const queue = newQueue();
    await slowDown(queue);
    const behind = await createSilently(database, queue, { dueMinutesAgo: 10 });
    await database.query(`
      CREATE FUNCTION millrace.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused by the test'; END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON millrace.ready
      FOR EACH ROW WHEN (OLD.id = '${behind}') EXECUTE FUNCTION millrace.refuse()`);
    const ahead = await createJob(a, queue);
    expect(idsOf(await lease(worker, queue, { max_jobs: 2 }))).toEqual([ahead]);
    await database.query('DROP TRIGGER refuse ON millrace.ready');
    expect(idsOf(await lease(worker, queue, { max_jobs: 2 }))).toEqual([behind]);
  });
});
