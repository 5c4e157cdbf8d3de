import { afterAll, describe, expect, it } from 'vitest';
import { SAFETY_MS } from '../../src/engine/leases/idle-queues.js';
import { SAFETY_POLL_MS } from '../../src/pool/worker-pool.js';
import { createClient } from '../support/client.js';
import { cloneDatabase } from '../support/database.js';
import { startTestServer, WORKER_TOKEN, type TestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { startAnotherServer } from './another-server.js';
import * as kit from './kit.js';
import {
  complete,
  createJob,
  createJobs,
  fail,
  getJob,
  idsOf,
  lease,
  leaseOne,
  newQueue,
  NEWS_ALONE,
  SWEEP_OFTEN,
  waitFor,
} from './kit.js';
import { createSilently } from './silent.js';
import { LONGEST_WAIT_SECS, inTime, longPolls } from './waiting.js';

const JOBS = 10_000;
const LESSEES = 16;

describe('two servers on one database', async () => {
  const database = await cloneDatabase();
  const config = { mode: 'api' as const };
  /** Whoever is answered was told: no look comes to the rescue. */
  const intervals = { ...NEWS_ALONE, ...SWEEP_OFTEN };
  const start = (): Promise<TestServer> => startTestServer({ database, config, intervals });
  const [one, two] = [await start(), await start()];
  const { a } = one;
  afterAll(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await database.drop();
  });

  /** A call that waits on a server, on which nobody else does, is answered with the job that is made meanwhile. */
  const expectAnswer = (
    { metricsUrl, worker }: Pick<TestServer, 'metricsUrl' | 'worker'>,
    create: (queue: string) => Promise<string>,
  ): Promise<void> =>
    inTime(LONGEST_WAIT_SECS, async (time) => {
      const queue = newQueue();
      const polling = lease(worker, queue, { wait_secs: LONGEST_WAIT_SECS });
      await until(async () => time.isUp || (await longPolls({ metricsUrl })) === 1);
      const id = await create(queue);
      expect(idsOf(await polling)).toEqual([id]);
    });

  it('give each of ten thousand jobs to exactly one of sixteen lessees', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, JOBS);
    const work = async (n: number): Promise<string[]> => {
      const { worker } = n % 2 ? one : two;
      const mine: string[] = [];
      for (;;) {
        const leased = await lease(worker, queue, { max_jobs: 100 });
        if (leased.length === 0) return mine;
        for (const { job } of leased) expect(job.delivery_count).toBe(1);
        mine.push(...idsOf(leased));
      }
    };
    const claims = (await Promise.all(Array.from({ length: LESSEES }, (_, n) => work(n)))).flat();
    expect(claims).toHaveLength(JOBS);
    expect(new Set(claims)).toEqual(new Set(ids));
    const [row] = await database.query(
      `SELECT count(*)::int AS leases, count(DISTINCT token)::int AS tokens, max(delivery_count) AS deliveries
       FROM millrace.leases`,
    );
    expect(row).toEqual({ leases: JOBS, tokens: JOBS, deliveries: 1 });
    await database.query('TRUNCATE millrace.leases');
  });

  it('a job that one enqueues is leased from the other at once, by a waiting call', async () => {
    // The call waits once the other server has looked for the queue and found nothing.
    for (let i = 0; i < 15; i++) await expectAnswer(two, (queue) => createJob(a, queue));
  });

  it('without a notification it is leased within five seconds', async () => {
    for (const usual of [SAFETY_MS, SAFETY_POLL_MS]) expect(usual).toBeLessThanOrEqual(5_000);
    const looking = await startAnotherServer(database, { ...config, mode: 'all' }, {}, { safetyPollMs: 300 });
    const { metricsUrl } = looking;
    const worker = createClient(looking.apiUrl!, WORKER_TOKEN);
    await expectAnswer({ metricsUrl, worker }, (queue) => createSilently(database, queue));
    // The pool has no handler for it, and says so once it has found it.
    await waitFor(a, await createSilently(database, 'default'), 'failed');
    await looking.stop();
  });

  it('a job is leased from one, kept alive and finished through the other', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0 } });
    await fail(two.worker, await leaseOne(one.worker, queue));
    const leased = await leaseOne(two.worker, queue);
    expect((await kit.heartbeat(one.worker, leased)).body).toEqual({ status: 'running' });
    expect((await complete(one.worker, leased, { ok: true })).status).toBe(204);
    expect(await getJob(two.a, id)).toMatchObject({ status: 'completed', result: { ok: true }, delivery_count: 2 });
  });

  it('sweep at the same time, and reclaim a lease once', async () => {
    const queue = newQueue();
    // Enough of them that the sweeps of all processes overlap.
    const others = await Promise.all([1, 2, 3].map(() => startAnotherServer(database, config, {}, SWEEP_OFTEN)));
    const ids = await createJobs(a, queue, 300, { max_retries: 1, retry_delay_secs: 3600 });
    for (let n = 0; n < 3; n++) await lease(one.worker, queue, { max_jobs: 100 });
    await database.query(`UPDATE millrace.leases SET locked_until = now() - interval '1 second' WHERE id = ANY ($1)`, [
      ids,
    ]);
    await until(
      async () => (await a.get(`/api/v1/jobs?queue=${queue}&status=retrying&include_total=true`)).body.total === 300,
      { what: 'all leases to be reclaimed' },
    );
    await Promise.all(others.map((each) => each.stop()));
    const jobs = await kit.listAll(a, `queue=${queue}&limit=100`);
    expect(new Set(jobs.map((job) => job.id))).toEqual(new Set(ids));
    expect(jobs.every((job) => job.retry_count === 1 && job.delivery_count === 1)).toBe(true);
  });

  it('an api server leaves the default queue to a worker, which claims from it at once', async () => {
    const id = await createJob(a, 'default', { task_name: 'echo', payload: { x: 1 } });
    expect(await getJob(a, id)).toMatchObject({ status: 'pending', delivery_count: 0 });
    const worker = await startAnotherServer(database, { mode: 'worker' }, {}, NEWS_ALONE);
    expect(worker.apiUrl).toBeNull();
    await waitFor(a, id, 'completed');
    for (let i = 0; i < 15; i++) {
      await waitFor(a, await createJob(a, 'default', { task_name: 'echo' }), 'completed');
    }
    await worker.stop();
  });

  it('survive foreign messages on their channel', async () => {
    for (const text of [
      'garbage',
      '',
      '{}',
      '[]',
      'null',
      '{"from":1,"q":5}',
      '{"from":"x","q":[5]}',
      '{"q":[["q",7]]}',
    ]) {
      await database.query(`SELECT pg_notify('millrace', $1)`, [text]);
    }
    await expectAnswer(two, (queue) => createJob(a, queue));
  });

  it('are notified again after their listening connection was cut', async () => {
    const listeners = `FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'millrace'
         AND (query LIKE 'LISTEN%' OR query = 'SELECT')`;
    // Those of servers that have stopped may take a moment to go.
    await until(async () => (await database.query(`SELECT ${listeners}`)).length === 2, { what: 'both to listen' });
    const cut = await database.query<{ pid: number }>(`SELECT pid, pg_terminate_backend(pid) ${listeners}`);
    expect(cut).toHaveLength(2);
    const pids = cut.map(({ pid }) => pid);
    const anew = `SELECT ${listeners} AND state = 'idle' AND pid <> ALL ($1)`;
    await until(async () => (await database.query(anew, [pids])).length === 2, { what: 'both to listen again' });
    await expectAnswer(two, (queue) => createJob(a, queue));
  });
});
