import { median } from '@millrace/tools-shared';
import pg from 'pg';
import type { Fault } from '../fault.js';
import { QUICK } from '../stage/actors.js';
import type { ChaosClient } from '../history/client.js';
import type { Database } from '../stage/database.js';
import type { Stage } from '../stage/stage.js';

const LONGEST_HOLD_SECS = 600;
const CLEAN_SECS = 2;
const LEAST_SHARE = 0.7;
const BATCH = 1_000;
const BATCHES = 3;
/**
 * The pace of bursts under a long hold: fast enough for dead rows to pile up, slow enough for the oracle to read all
 * jobs.
 */
const BURST_EVERY_MS = 5_000;

/**
 * Another session on the same database leaves a transaction open. Nothing deleted since can be vacuumed, and a queue
 * deletes all the time. Bursts of jobs are drained before, during and after, and their rates compared.
 */
export const idleTransaction: Fault = {
  row: 24,
  name: 'another session idle in transaction for ten minutes',
  check: 'throughput at least 70 % of clean, and recovers',
  unit: 'seconds held',
  full: 3 * LONGEST_HOLD_SECS,
  everyday: 3,
  rare: true,
  alone: true,
  async run(stage, count) {
    const database = await stage.database();
    const client = stage.client(await stage.server({ database }));
    await burst(stage, client); // warms up
    for (let left = count; left > 0; left -= LONGEST_HOLD_SECS) {
      const before = await rates(stage, client, CLEAN_SECS);
      const release = await holdTransaction(database);
      const held = await rates(stage, client, Math.min(left, LONGEST_HOLD_SECS)).finally(release);
      const after = await rates(stage, client, CLEAN_SECS);
      const clean = median([...before, ...after]);
      // The last quarter shows what the hold has led to; a dip in the middle would still show there.
      const slowest = median(held.slice(-Math.max(3, Math.ceil(held.length / 4))));
      compare(stage, 'while a transaction was held open', slowest, clean);
      compare(stage, 'after it was released', median(after), median(before));
    }
    await stage.drained(database);
  },
};

function compare(stage: Stage, when: string, rate: number, clean: number): void {
  const share = Math.round((100 * rate) / clean);
  stage.expect(
    rate >= LEAST_SHARE * clean,
    `${when}: ${Math.round(rate)} jobs per second, ${share} % of ${Math.round(clean)}`,
  );
}

/** Holds a snapshot and a transaction id: either alone would hold back the vacuum. */
async function holdTransaction(database: Database): Promise<() => Promise<void>> {
  const session = new pg.Client({ connectionString: database.url, application_name: 'forgotten' });
  await session.connect();
  await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await session.query('SELECT pg_current_xact_id(), count(*) FROM millrace.ready');
  return () => session.end();
}

/** Runs bursts for a while; resolves to the jobs per second of each. */
async function rates(stage: Stage, client: ChaosClient, secs: number): Promise<readonly number[]> {
  const until = performance.now() + secs * 1_000;
  const measured: number[] = [];
  do {
    const startedAt = performance.now();
    measured.push(await burst(stage, client));
    const pauseMs = secs > 60 ? startedAt + BURST_EVERY_MS - performance.now() : 0;
    if (pauseMs > 0) await stage.sleep(pauseMs);
  } while (performance.now() < until);
  return measured;
}

async function burst(stage: Stage, client: ChaosClient): Promise<number> {
  const before = await completed(client);
  const startedAt = performance.now();
  const jobs = Array.from({ length: BATCH }, () => ({ task_name: 'echo', config: QUICK }));
  for (let batch = 0; batch < BATCHES; batch++) await client.batch(jobs);
  await stage.until(async () => (await completed(client)) - before >= BATCH * BATCHES, {
    what: 'a burst to be drained',
    withinMs: 120_000,
  });
  return (BATCH * BATCHES * 1_000) / (performance.now() - startedAt);
}

/** As counted by the server: a query on the database would read the dead rows as well. */
async function completed(client: ChaosClient): Promise<number> {
  const { body } = await client.send('other', 'GET', '/api/v1/stats');
  return Number(body.jobs_completed);
}
