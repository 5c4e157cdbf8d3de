import { hostname } from 'node:os';
import type { Job, Worker } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../support/client.js';
import { startTestServer, TENANT_B, useTestServer, type TestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import {
  cancel,
  complete,
  createJob,
  createJobs,
  expireLease,
  fail,
  newQueue,
  report,
  SWEEP_OFTEN,
  waitFor,
  type Leased,
} from '../kit.js';

const NOTHING = { running: 0, running_jobs: [], completed: 0, failed: 0, expired: 0 };
const SILENT = { slots: null, in_use: null, tasks: null };
const SEEN = { first_seen_at: expect.any(String), last_seen_at: expect.any(String) };

describe('GET /workers', async () => {
  const server = await useTestServer({ config: { workers: 4 }, intervals: SWEEP_OFTEN });
  const { a, b, worker, admin, nobody, database } = server;
  const workers = async (client: Client, of: string): Promise<Worker[]> => {
    const path = client === admin ? '/api/v1/admin/workers' : '/api/v1/workers';
    const reply = await client.get(path);
    expect(reply.status, reply.text).toBe(200);
    return (reply.body.workers as Worker[]).filter(({ queue_name: queue }) => queue === of);
  };
  const leaseAs = async (name: string | null, queue: string, fields = {}, client = worker): Promise<Leased[]> => {
    const body = { ...(name !== null && { worker_id: name }), lease_secs: 3_600, ...fields };
    return (await client.post(`/api/v1/queues/${queue}/lease`, body)).body.jobs as Leased[];
  };
  /** On another server, which writes what it saw when it stops. */
  const elsewhere = async (work: (server: TestServer) => Promise<void>): Promise<void> => {
    const other = await startTestServer({ config: { mode: 'api' }, database });
    await work(other);
    await other.stop();
  };

  it("names those that held the caller's jobs, with what became of it, the last seen first", async () => {
    const queue = newQueue();
    await createJobs(a, queue, 5, { retry_delay_secs: 3600 });
    const [first, second, third, fourth] = await leaseAs('one', queue, { max_jobs: 4 });
    const [held] = await leaseAs('two', queue);
    await complete(worker, first!);
    await complete(worker, second!);
    await fail(worker, third!);
    await fail(worker, fourth!, { retryable: false });
    expect(await workers(a, queue)).toEqual([
      { ...NOTHING, ...SILENT, ...SEEN, worker_id: 'one', queue_name: queue, completed: 2, failed: 2 },
      {
        ...{ ...NOTHING, ...SILENT, ...SEEN, worker_id: 'two', queue_name: queue, running: 1 },
        running_jobs: [{ id: held!.job.id, task_name: 'task', queue, started_at: expect.any(String) }],
      },
    ]);
    expect(await workers(b, queue)).toEqual([]);
  });

  it('names those that only ask, where the caller has jobs, but not what they know', async () => {
    const [queue, foreign] = [newQueue(), newQueue()];
    await leaseAs('idle', queue, { slots: 8, tasks: ['secret'] });
    await leaseAs('silent', queue);
    expect(await workers(a, queue)).toEqual([]);
    const held = await createJob(a, queue, { delay_secs: 3600 });
    await createJob(b, foreign);
    await leaseAs('theirs', foreign, { slots: 2, tasks: ['secret'] });
    const idle = { ...NOTHING, ...SEEN, worker_id: 'idle', queue_name: queue, slots: 8, in_use: 0 };
    expect(await workers(a, queue)).toEqual([{ ...idle, tasks: null }]);
    expect(await workers(b, queue)).toEqual([]);
    expect(await workers(a, foreign)).toEqual([]);
    expect(await workers(admin, queue)).toEqual([{ ...idle, tasks: ['secret'] }]);
    // Once it has held a job, it is told what else it would take.
    await a.post(`/api/v1/jobs/${held}/run-now`);
    const [leased] = await leaseAs('idle', queue, { slots: 8, tasks: ['secret'] });
    await complete(worker, leased!);
    const [worked] = await workers(a, queue);
    expect(worked).toMatchObject({ completed: 1, tasks: ['secret'] });
    await leaseAs('idle', queue, { slots: 8, tasks: ['secret'] });
    const [asked] = await workers(a, queue);
    expect(Date.parse(asked!.last_seen_at)).toBeGreaterThan(Date.parse(worked!.last_seen_at));
    expect(asked!.first_seen_at).toBe(worked!.first_seen_at);
  });

  it('counts slots in use whoever uses them, beside the jobs of the caller', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 1);
    await createJobs(b, queue, 2);
    expect(await leaseAs('shared', queue, { slots: 5, max_jobs: 3 })).toHaveLength(3);
    expect(await workers(a, queue)).toMatchObject([{ running: 1, slots: 5, in_use: 3 }]);
    expect(await workers(b, queue)).toMatchObject([{ running: 2, slots: 5, in_use: 3 }]);
    expect(await workers(admin, queue)).toMatchObject([{ running: 3, slots: 5, in_use: 3 }]);
  });

  it('never counts more slots in use than there are, though a job may be held while its end is reported', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 4);
    await createJobs(b, queue, 1);
    // Its handlers have ended and left their slots; what became of their jobs is on its way.
    await leaseAs('quick', queue, { slots: 3, max_jobs: 3 });
    await leaseAs('quick', queue, { slots: 3, max_jobs: 2 });
    await leaseAs('other', queue, { slots: 2 });
    for (const [client, running] of [[a, 4] as const, [admin, 5] as const]) {
      const quick = (await workers(client, queue)).find(({ worker_id: id }) => id === 'quick');
      expect(quick).toMatchObject({ running, slots: 3, in_use: 3 });
    }
    const { body } = await a.get(`/api/v1/queues/${queue}`);
    expect(body.slots).toEqual({ offered: 5, in_use: 3 });
  });

  it('names the ten jobs that a worker has held longest, of the caller alone', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 12);
    await createJobs(b, queue, 2);
    const leased: string[] = [];
    for (let n = 0; n < 14; n++) leased.push((await leaseAs('busy', queue))[0]!.job.id);
    const own = new Set(
      ((await a.get(`/api/v1/jobs?queue=${queue}&limit=100`)).body.jobs as Job[]).map(({ id }) => id),
    );
    const [busy] = await workers(a, queue);
    expect(busy).toMatchObject({ running: 12 });
    expect(busy!.running_jobs.map(({ id }) => id)).toEqual(leased.filter((id) => own.has(id)).slice(0, 10));
    const [foreign] = await workers(b, queue);
    expect(foreign!.running_jobs.map(({ id }) => id)).toEqual(leased.filter((id) => !own.has(id)));
    expect((await workers(admin, queue))[0]!.running_jobs.map(({ id }) => id)).toEqual(leased.slice(0, 10));
  });

  it('counts a lease that expired against the worker that held it', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0 } });
    expect(await leaseAs('lost', queue)).toHaveLength(1);
    await expireLease(database, id);
    const isLeased = async (): Promise<boolean> => (await leaseAs('heir', queue, { wait_secs: 30 })).length === 1;
    await until(isLeased, { what: 'the job to be due again' });
    const found = new Map((await workers(a, queue)).map((each) => [each.worker_id, each]));
    expect(found.get('lost')).toMatchObject({ ...NOTHING, expired: 1 });
    expect(found.get('heir')).toMatchObject({ running: 1, completed: 0, expired: 0 });
    expect(Date.parse(found.get('lost')!.last_seen_at)).toBeLessThan(Date.parse(found.get('heir')!.last_seen_at));
  });

  it('sees heartbeats, with progress or without, and releases; a cancellation is not its doing', async () => {
    const queue = newQueue();
    const jobs = await createJobs(a, queue, 4);
    const held = await Promise.all(['plain', 'progress', 'release', 'cancel'].map((name) => leaseAs(name, queue)));
    const order = async (): Promise<string[]> => (await workers(a, queue)).map(({ worker_id: id }) => id);
    const [plain, progress, release, cancelled] = held.map(([leased]) => leased!);
    expect(new Set(held.map(([leased]) => leased!.job.id))).toEqual(new Set(jobs));
    await report(worker, 'heartbeat', progress!, { extend_secs: 3_600, progress: { done: 1 } });
    expect((await order())[0]).toBe('progress');
    await report(worker, 'heartbeat', plain!, { extend_secs: 3_600 });
    expect((await order())[0]).toBe('plain');
    await report(worker, 'release', release!);
    expect((await order())[0]).toBe('release');
    await cancel(a, cancelled!.job.id);
    expect((await workers(a, queue)).find(({ worker_id: id }) => id === 'cancel')).toMatchObject(NOTHING);
    expect((await order())[0]).toBe('release');
  });

  it('names the process of a pool', async () => {
    const name = `${hostname()}:${process.pid}`;
    const count = async (): Promise<Worker> => (await workers(b, 'default')).find(({ worker_id: id }) => id === name)!;
    const jobs = Array.from({ length: 20 }, () => ({ task_name: 'echo' }));
    const { body } = await b.post('/api/v1/jobs/batch', { jobs });
    await waitFor(b, await createJob(b, 'default', { task_name: 'nobody knows' }), 'failed');
    const sleeper = await createJob(b, 'default', { task_name: 'sleep', payload: { seconds: 600 } });
    await waitFor(b, sleeper, 'running');
    for (const id of body.job_ids as string[]) await waitFor(b, id, 'completed');
    // A job has ended a moment before the pool that ran it hears so.
    const isCounted = ({ completed, failed }: Worker): boolean => completed >= 20 && failed >= 1;
    await until(async () => isCounted(await count()), { what: 'all of them to be counted' });
    expect(await count()).toMatchObject({ running: 1, completed: 20, failed: 1, expired: 0 });
    await cancel(b, sleeper);
  });

  it('leaves out a worker that gives no name', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    const [leased] = await leaseAs(null, queue);
    expect(await workers(a, queue)).toEqual([]);
    await complete(worker, leased!);
    expect(await workers(a, queue)).toEqual([]);
  });

  it('adds up what several processes saw, for operators over all tenants', async () => {
    const queue = newQueue();
    for (const client of ['a', 'b'] as const) {
      await elsewhere(async (other) => {
        await createJobs(other[client], queue, 2);
        for (const leased of await leaseAs('busy', queue, { max_jobs: 2 }, other.worker))
          await complete(other.worker, leased);
      });
    }
    await createJobs(b, queue, 1);
    const [last] = await leaseAs('busy', queue);
    await fail(worker, last!);
    expect(await workers(a, queue)).toMatchObject([{ worker_id: 'busy', completed: 2, failed: 0 }]);
    expect(await workers(b, queue)).toMatchObject([{ worker_id: 'busy', completed: 2, failed: 1 }]);
    expect(await workers(admin, queue)).toMatchObject([{ worker_id: 'busy', completed: 4, failed: 1 }]);
  });

  it('forgets who was last seen more than an hour ago, unless it still holds a job', async () => {
    const queue = newQueue();
    await createJob(b, queue);
    await elsewhere(async (other) => void (await leaseAs('holder', queue, {}, other.worker)));
    await database.query(
      `INSERT INTO millrace.workers (at, last_seen_at, completed, failed, expired, tenant, worker, queue)
       SELECT now() - age, now() - age, 1, 0, 0, $1, name, $2
       FROM (VALUES (interval '50 minutes', 'recent'), (interval '61 minutes', 'gone'),
                    (interval '66 minutes', 'long gone')) AS old (age, name)`,
      [TENANT_B, queue],
    );
    // Whoever writes removes what is too old to tell.
    await elsewhere(async (other) => {
      const passing = newQueue();
      for (const client of [other.a, other.b]) await createJob(client, passing);
      await leaseAs('passing', passing, { max_jobs: 2 }, other.worker);
    });
    const left = await database.query<{ worker: string }>(
      `SELECT worker FROM millrace.workers WHERE queue = $1 ORDER BY last_seen_at DESC`,
      [queue],
    );
    expect(left.map((row) => row.worker)).toEqual(['holder', 'recent', 'gone']);
    await database.query(
      `UPDATE millrace.workers SET last_seen_at = now() - interval '63 minutes' WHERE worker = 'holder'`,
    );
    expect((await workers(b, queue)).map(({ worker_id: id }) => id)).toEqual(['holder', 'recent']);
    expect((await workers(admin, queue)).map(({ worker_id: id }) => id)).toEqual(['holder', 'recent']);
  });

  it('keeps no more than a thousand of a tenant, and goes on with those that it has', async () => {
    const queue = newQueue();
    const step = 'to_timestamp(floor(extract(epoch FROM now()) / 300) * 300)';
    await database.query(
      `INSERT INTO millrace.workers (at, last_seen_at, completed, failed, expired, tenant, worker, queue)
       SELECT at, now(), 0, 0, 0, $1, 'crowd-' || n, $2
       FROM generate_series(1, 1000) AS n, (SELECT ${step} AS at UNION SELECT ${step} + interval '5 minutes') AS steps`,
      ['tenant-crowd', queue],
    );
    await elsewhere(async (other) => {
      const { body } = await other.a.post('/api/v1/jobs/batch', {
        jobs: [1, 2].map(() => ({ task_name: 't', config: { queue } })),
      });
      await database.query(`UPDATE millrace.jobs SET tenant = 'tenant-crowd' WHERE id = ANY ($1)`, [body.job_ids]);
      await database.query(`UPDATE millrace.ready SET tenant = 'tenant-crowd' WHERE id = ANY ($1)`, [body.job_ids]);
      for (const name of ['crowd-7', 'late-comer'])
        for (const leased of await leaseAs(name, queue, {}, other.worker)) await complete(other.worker, leased);
    });
    const rows = await database.query<{ worker: string }>(
      `SELECT DISTINCT worker FROM millrace.workers WHERE queue = $1 AND completed = 1`,
      [queue],
    );
    expect(rows).toEqual([{ worker: 'crowd-7' }]);
  });

  it('answers 304 while nothing has changed, and takes tenants only', async () => {
    await createJob(a, 'tagged');
    await leaseAs('tagged', 'tagged');
    // When what was seen is written, its instant moves by a hair.
    await until(async () => {
      const { headers } = await a.get('/api/v1/workers');
      return (await a.get('/api/v1/workers', { 'if-none-match': headers.get('etag')! })).status === 304;
    });
    for (const client of [worker, admin, nobody]) expect((await client.get('/api/v1/workers')).status).toBe(401);
    expect((await a.get('/api/v1/workers?limit=1')).body.warnings).toHaveLength(1);
  });
});
