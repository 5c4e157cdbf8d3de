import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../support/server.js';
import { blockClaimOf } from './blocking.js';
import { createJob, idsOf, lease, newQueue } from './kit.js';

/**
 * While claims are slow they begin where the last one ended and not at the head of the queue. Nothing may be lost by that, nor come out
 * of order within one answer.
 */
describe('a queue whose claims are slow', async () => {
  const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });

  /** Two claims in a row that take long, so that the next one starts from a floor. */
  async function slowDown(queue: string): Promise<void> {
    for (let i = 0; i < 2; i++) {
      const id = await createJob(a, queue);
      const block = await blockClaimOf(database, id);
      const claiming = lease(worker, queue);
      await block.held();
      await block.release();
      expect(idsOf(await claiming)).toEqual([id]);
    }
  }

  /** A job that no server was told of, as if by a process whose news is still on its way. */
  async function createSilently(queue: string, dueMinutesAgo: number, priority = 0): Promise<string> {
    const [row] = await database.query<{ id: string }>(
      `WITH job AS (
         INSERT INTO millrace.jobs (created_at, run_at, priority, id, tenant, queue, task, payload, config)
         VALUES (now(), now() - $2 * interval '1 minute', $3, gen_random_uuid(), 'tenant-a', $1, 'task', '{}', $4) RETURNING *
       )
       INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
       SELECT run_at, priority, 0, 0, id, tenant, queue FROM job RETURNING id`,
      [queue, dueMinutesAgo, priority, JSON.stringify({ ...DEFAULT_JOB_CONFIG, priority })],
    );
    return row!.id;
  }

  it('still lists one answer in order, and finds what lies behind the floor', async () => {
    const queue = newQueue();
    await slowDown(queue);
    const fresh = await createSilently(queue, 0);
    const old = await createSilently(queue, 10);
    const urgent = await createSilently(queue, 5, 7);
    const older = await createSilently(queue, 20);
    expect(idsOf(await lease(worker, queue, { max_jobs: 100 }))).toEqual([urgent, older, old, fresh]);
  });

  it('is claimed exactly again within a second or so, however much is in front of the floor', async () => {
    const queue = newQueue();
    await slowDown(queue);
    const old = await createSilently(queue, 10);
    const deadline = performance.now() + 5_000;
    for (let claimed: string[] = []; !claimed.includes(old);) {
      expect(performance.now()).toBeLessThan(deadline);
      await createJob(a, queue);
      claimed = idsOf(await lease(worker, queue));
    }
  });
});
