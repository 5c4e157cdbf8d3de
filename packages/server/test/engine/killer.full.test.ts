import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { MAX_AT_RISK } from '../../src/pool/sizing.js';
import { controlClock } from '../support/clock.js';
import { cloneDatabase } from '../support/database.js';
import { spawnServer, type ServingProcess } from '../support/processes.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { deadLettersOf, expireAll, getJob } from './kit.js';

const SCRIPT = fileURLToPath(new URL('killer-worker.mjs', import.meta.url));
const WORKERS = 4;
const [BEFORE, AFTER] = [900, 3_100];
const MAX_RETRIES = 3;

/** A job that takes its process down, again and again, among many that do no harm. */
describe('a job that kills its process', async () => {
  const database = await cloneDatabase();
  // Leases run out when the test says so, not while this machine is held up.
  await (await controlClock(database)).freeze();
  const api = await startTestServer({ database, config: { mode: 'api' } });
  const { a } = api;
  afterAll(async () => {
    await api.stop();
    await database.drop();
  });

  const spawnWorker = (): Promise<ServingProcess> =>
    spawnServer({
      script: SCRIPT,
      args: ['--mode=worker', `--workers=${WORKERS}`],
      env: { DATABASE_URL: database.url },
    });

  async function create(count: number, task_name: string): Promise<string[]> {
    const config = { max_retries: MAX_RETRIES, retry_delay_secs: 0 };
    const ids: string[] = [];
    for (let n = 0; n < count; n += 100) {
      const jobs = Array.from({ length: Math.min(100, count - n) }, () => ({ task_name, config }));
      ids.push(...((await a.post('/api/v1/jobs/batch', { jobs })).body.job_ids as string[]));
    }
    return ids;
  }

  const numberOf = async (question: string): Promise<number> =>
    (await database.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${question}`))[0]!.n;
  const running = (): Promise<number> => numberOf('millrace.running');

  /** What the dead process held runs out at once, and the janitor comes. */
  async function reclaim(): Promise<void> {
    for (const table of ['leases', 'bundles'] as const) await expireAll(database, table, 'true');
    await until(async () => (await running()) === 0, { what: 'the sweep' });
  }

  it('becomes a dead letter, and costs each of its neighbours one retry at most', async () => {
    const before = await create(BEFORE, 'echo');
    const [killer = ''] = await create(1, 'kill');
    const neighbours = [...before, ...(await create(AFTER, 'echo'))];
    for (let deaths = 0; deaths <= MAX_RETRIES; deaths++) {
      const worker = await spawnWorker();
      expect(await worker.exited).toMatchObject({ signal: 'SIGKILL' });
      await reclaim();
    }
    expect(await getJob(a, killer)).toMatchObject({ status: 'failed', retry_count: MAX_RETRIES });
    expect(await deadLettersOf(a, killer)).toHaveLength(1);

    const survivor = await spawnWorker();
    const completed = `millrace.done WHERE status = 'completed'`;
    await until(async () => (await numberOf(completed)) === neighbours.length, {
      what: 'every neighbour to be completed',
    });
    survivor.signal('SIGTERM');
    await survivor.exited;
    // Those that may have been started when it killed the process for the first time. After that it ran alone.
    const paid = await numberOf(`millrace.done WHERE status = 'completed' AND retry_count > 0`);
    expect(paid).toBeLessThanOrEqual(MAX_AT_RISK + WORKERS);
    expect(await numberOf(`millrace.done WHERE status = 'completed' AND retry_count > 1`)).toBe(0);
    expect(await numberOf("millrace.done WHERE status = 'completed' AND delivery_count <> retry_count + 1")).toBe(0);
  });
});
