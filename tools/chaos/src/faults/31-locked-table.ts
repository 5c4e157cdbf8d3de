import pg from 'pg';
import type { Fault } from '../fault.js';
import type { Database } from '../stage/database.js';
import { probeHealth } from '../support/health.js';

const BATCH = 1_000;
const BATCHES = 12;
const BATCHES_PER_SECOND = 2;
/** What a pool may have in hand, and two claims that were on their way. */
const MOST_IN_HAND = 3_000;
const HEALTH_MS = 1_000;

/**
 * Another session locks the table that outcomes go to, as a CREATE INDEX on it would. Jobs can be claimed and run, but
 * not ended, and they keep coming.
 */
export const lockedTable: Fault = {
  row: 31,
  name: 'the table of finished jobs locked while jobs keep coming',
  check: 'few are claimed meanwhile, none runs twice, all complete afterwards',
  unit: 'seconds locked',
  full: 40,
  everyday: 5,
  rare: true,
  async run(stage, seconds) {
    const database = await stage.database();
    const server = await stage.server({ database });
    const client = stage.client(server);
    const jobs = Array.from({ length: BATCH }, () => ({ task_name: 'echo' }));
    const create = async (): Promise<void> => {
      const { status } = await client.batch(jobs);
      stage.expect(status === 201, `a batch was answered ${status ?? 'not at all'}`);
    };
    const unlock = await lockFinished(database);
    const inHand: number[] = [];
    try {
      for (let batch = 0; batch < BATCHES; batch++) await create();
      const endsAt = performance.now() + seconds * 1_000;
      while (performance.now() < endsAt) {
        const round = performance.now();
        for (let batch = 0; batch < BATCHES_PER_SECOND; batch++) await create();
        inHand.push(await database.count('millrace.running'));
        await probeHealth(stage, server, HEALTH_MS);
        await stage.sleep(Math.max(0, round + 1_000 - performance.now()));
      }
    } finally {
      await unlock();
    }
    const most = Math.max(...inHand);
    stage.note(`${most} jobs in hand at most`);
    stage.expect(most > 0, 'no job was claimed while the table was locked: it was no fault');
    stage.expect(most <= MOST_IN_HAND, `${most} jobs were in hand at once, at most ${MOST_IN_HAND} are allowed`);
    await stage.drained(database);
    const again = await database.count('millrace.job_records WHERE delivery_count > 1');
    stage.expect(again === 0, `${again} jobs ran more than once`);
    const unfinished = await database.count(`millrace.job_records WHERE status <> 'completed'`);
    stage.expect(unfinished === 0, `${unfinished} jobs did not complete`);
  },
};

async function lockFinished(database: Database): Promise<() => Promise<void>> {
  const session = new pg.Client({ connectionString: database.url, application_name: 'chaos' });
  await session.connect();
  await session.query('BEGIN');
  await session.query('LOCK TABLE millrace.done IN SHARE ROW EXCLUSIVE MODE');
  return () => session.end();
}
