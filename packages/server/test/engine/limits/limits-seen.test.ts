import { WALK_LIMIT, type QueueDetail } from '@millrace/contract';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limitId } from '../../../src/engine/shared/limit-id.js';
import { loadStatements } from '../../../src/store/sql.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A, TENANT_B } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import * as kit from '../kit.js';
import { complete, createJob, createJobs, fail, lease, newQueue, SWEEP_OFTEN } from '../kit.js';
import { perform } from '../operations/operation-kit.js';
import { leaseNext } from '../waiting.js';

/** Jobs that wait for room, for a token or for the turn of their tenant: wherever one looks, they are there. */
const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const server = await startTestServer({ database, config: { workers: 1 }, intervals: SWEEP_OFTEN });
const { a, worker, admin } = server;
afterAll(async () => {
  await server.stop();
  await database.drop();
});

const of = (key: string, running: number, more: object = {}): { config: object } => ({
  config: { limits: [{ key, running }], ...more },
});
const rated = (rate: object): { config: object } => ({ config: { limits: [{ key: 'r', rate }] } });
const detail = async (queue: string): Promise<QueueDetail> => (await a.get(`/api/v1/queues/${queue}`)).body;
const list = async (query: string): Promise<string[]> => (await kit.listAll(a, query)).map(({ id }) => id).sort();
const why = async (id: string): Promise<any> => (await a.get(`/api/v1/jobs/${id}/why`)).body;
const share = async (queue: string): Promise<void> => {
  const { status } = await admin.send('PUT', `/api/v1/admin/queues/${queue}`, { body: { share: 'tenant' } });
  expect(status).toBe(200);
};
const inTurn = (queue: string, count: number): Promise<unknown> =>
  until(async () => {
    const rows = await database.query(
      `SELECT FROM millrace.ready WHERE queue = $1 AND waits_for = millrace.share_line(queue, tenant)`,
      [queue],
    );
    return rows.length === count || `${rows.length} are in line`;
  });

/** First: nobody else waits yet. */
describe('the metrics', () => {
  const metrics = async (url: string): Promise<Record<string, number>> => {
    const page = await (await fetch(`${url}/metrics`)).text();
    return Object.fromEntries(
      [...page.matchAll(/^millrace_(limits_\w+) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]),
    );
  };

  it('count who waits for room, since when the first does, and who was let in', async () => {
    const admitted = async (): Promise<number> => (await metrics(server.metricsUrl)).limits_admitted_total!;
    // What is asked of the database a process remembers for a while.
    const asked = async (): Promise<Record<string, number>> => {
      const other = await startAnotherServer(database, { mode: 'api' });
      const found = await metrics(other.metricsUrl);
      await other.stop();
      return found;
    };
    const queue = newQueue();
    await createJobs(a, queue, 2, { limits: [{ key: 'k', running: 1 }] });
    await clock.advance(100_000);
    await createJobs(a, queue, 1, { limits: [{ key: 'k', running: 1 }] });
    expect(await asked()).toMatchObject({ limits_waiting: 2, limits_oldest_age_seconds: 100_000 });
    const admittedBefore = await admitted();
    await complete(worker, await leaseNext(worker, queue));
    await complete(worker, await leaseNext(worker, queue));
    await leaseNext(worker, queue);
    expect((await asked()).limits_waiting).toBe(0);
    expect(await admitted()).toBe(admittedBefore + 2);
  });

  it('read no more than they count, however many wait in the lines of tenants', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 3, { limits: [{ key: 'k', running: 1 }] });
    const { waiting_for_room: statement } = loadStatements('limits/reads.sql');
    const text = statement({ max_jobs: WALK_LIMIT }).text.replaceAll('$1', String(WALK_LIMIT));
    const waiting = async (): Promise<number> => (await database.query<{ waiting: number }>(text))[0]!.waiting;
    const before = await waiting();
    await database.query(
      `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later,
                                   waits_for)
       SELECT now(), 0, 0, 0, gen_random_uuid(), 't' || n % 500, 'shared' || n % 2, false,
              millrace.share_line('shared' || n % 2, 't' || n % 500)
       FROM generate_series(1, 5000) AS n`,
    );
    expect(await waiting()).toBe(before);
    await database.query('ANALYZE millrace.ready');
    const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: object }] }>(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`);
    const steps = JSON.stringify(row!['QUERY PLAN'][0].Plan).matchAll(/"Actual Rows":([\d.]+),"Actual Loops":(\d+)/g);
    const read = [...steps].map(([, rows, loops]) => Number(rows) * Number(loops));
    expect(read.length).toBeGreaterThan(5);
    expect(Math.max(...read)).toBeLessThan(500);
    await database.query(`DELETE FROM millrace.ready WHERE queue LIKE 'shared_'`);
  });
});

describe('a retry in the line of its key', () => {
  it('is listed and counted as one, sends its events, and is due already when it is to run now', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, of('k', 1, { retry_delay_secs: 60, jitter_factor: 0 }));
    await fail(worker, await leaseNext(worker, queue));
    const other = await createJob(a, queue, of('k', 1));
    const holder = await leaseNext(worker, queue);
    expect(holder.job.id).toBe(other);
    await clock.advance(61);
    await until(async () => (await why(id)).reason === 'limited', { what: 'the retry to be in line' });
    expect(await kit.getJob(a, id)).toMatchObject({ status: 'retrying', retry_count: 1 });
    expect(await list(`queue=${queue}&status=retrying`)).toEqual([id]);
    expect((await a.get(`/api/v1/counts?queue=${queue}`)).body.jobs).toMatchObject({
      ...{ retrying: { n: 1 }, running: { n: 1 }, pending: { n: 0 }, scheduled: { n: 0 } },
    });
    const events = await a.open('GET', `/api/v1/jobs/${id}/events`);
    expect((await a.post(`/api/v1/jobs/${id}/run-now`)).status).toBe(204);
    expect((await why(id)).reason).toBe('limited');
    await complete(worker, holder);
    const again = await leaseNext(worker, queue);
    expect(again.job).toMatchObject({ id, retry_count: 1, delivery_count: 2 });
    await complete(worker, again);
    const told = [...(await events.text()).matchAll(/"status":"(\w+)"/g)].map(([, status]) => status);
    expect(told).toEqual(['retrying', 'running', 'completed']);
  });
});

describe('jobs in the lines of tenants', () => {
  it('are listed, counted, cancelled in bulk, and made due like any others', async () => {
    const queue = newQueue();
    await share(queue);
    const ids = await createJobs(a, queue, 3);
    const later = await createJob(a, queue, { delay_secs: 3_600 });
    await createJobs(server.b, queue, 2);
    await inTurn(queue, 5);
    expect(await list(`queue=${queue}&status=pending`)).toEqual([...ids, later].sort());
    expect((await a.get(`/api/v1/counts?queue=${queue}`)).body.jobs).toMatchObject({
      ...{ pending: { n: 3 }, scheduled: { n: 1 }, running: { n: 0 } },
    });
    expect(await detail(queue)).toMatchObject({ pending: 3, scheduled: 1, by_task_exact: true });
    expect((await detail(queue)).next.map(({ id }) => id)).toEqual([...ids, later]);
    for (const id of [ids[0]!, later]) expect((await a.post(`/api/v1/jobs/${id}/run-now`)).status).toBe(204);
    await inTurn(queue, 6);
    await clock.advance(1);
    const operation = await perform(a, { action: 'cancel_jobs', filter: { queue, status: 'pending' } });
    expect(operation).toMatchObject({ status: 'completed', done: 4 });
    for (const id of [...ids, later]) expect(await kit.getJob(a, id)).toMatchObject({ status: 'cancelled' });
    const left = await lease(worker, queue, { max_jobs: 9 });
    expect(left.map(({ job }) => job.tenant_id)).toEqual([TENANT_B, TENANT_B]);
  });

  it('may be run now in bulk', async () => {
    const queue = newQueue();
    await share(queue);
    const ids = [await createJob(a, queue, { delay_secs: 3_600 }), await createJob(a, queue, { delay_secs: 7_200 })];
    expect(await perform(a, { action: 'run_jobs_now', ids })).toMatchObject({ status: 'completed', done: 2 });
    await inTurn(queue, 2);
    expect((await lease(worker, queue, { max_jobs: 9 })).map(({ job }) => job.id).sort()).toEqual(ids.sort());
  });
});

describe('the page of a queue', async () => {
  const queue = newQueue();
  const [jobs, far]: [string[], string[]] = [[], []];
  beforeAll(async () => {
    for (const [key, task_name] of ['x', 'x', 'x', 'y', 'y'].map((key) => [key, `task of ${key}`] as const)) {
      await clock.advance(1);
      jobs.push(await createJob(a, queue, { ...of(key, 1), task_name }));
    }
    far.push(await createJob(a, queue, { ...of('x', 1), task_name: 'asleep', delay_secs: 7_200 }));
    far.push(await createJob(a, queue, { task_name: 'plain', delay_secs: 3_600 }));
    jobs.push(await createJob(a, queue, { task_name: 'plain', config: { priority: -5 } }));
  });
  const expected = [
    { task_name: 'task of x', waiting: 3, scheduled: 0, running: 0 },
    { task_name: 'plain', waiting: 1, scheduled: 1, running: 0 },
    { task_name: 'task of y', waiting: 2, scheduled: 0, running: 0 },
    { task_name: 'asleep', waiting: 0, scheduled: 1, running: 0 },
  ];

  it('shows what comes next: who may start, then who waits for room, then who is not due', async () => {
    const [x, x2, x3, y, y2, low] = jobs;
    expect((await detail(queue)).next.map(({ id }) => id)).toEqual([x, y, low, x2, x3, y2, far[1], far[0]]);
    expect(await detail(queue)).toMatchObject({ by_task: expected, by_task_exact: true });
  });

  it('shows the same where the tenant has too many jobs elsewhere to look through', async () => {
    await database.query(
      `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
       SELECT now(), 9, 0, 0, gen_random_uuid(), $1, 'elsewhere' FROM generate_series(1, $2::int)`,
      [TENANT_A, WALK_LIMIT + 1],
    );
    expect(await detail(queue)).toMatchObject({ by_task: expected, by_task_exact: true });
    await database.query(`DELETE FROM millrace.ready WHERE queue = 'elsewhere'`);
  });
});

describe('the list of keys', () => {
  it('says since when the oldest waits, though ten thousand of a higher priority came later', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 2, { limits: [{ key: 'k', running: 1 }] });
    await leaseNext(worker, queue);
    const [limit] = await database.query<{ id: string }>(`SELECT id FROM millrace.limits WHERE queue = $1`, [queue]);
    const oldest = (await a.get(`/api/v1/limits?queue=${queue}`)).body.limits[0].oldest as string;
    await database.query(
      `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, limits,
                                   waits_for)
       SELECT test_clock.now() + interval '1 second', 5, 0, 0, gen_random_uuid(), 'somebody', $1, false,
              ARRAY[$2::uuid], $2
       FROM generate_series(1, 10500)`,
      [queue, limit!.id],
    );
    const { body } = await a.get(`/api/v1/limits?queue=${queue}`);
    expect(body.limits[0]).toMatchObject({ oldest, waiting: 10_000 });
    await database.query(`DELETE FROM millrace.ready WHERE tenant = 'somebody'`);
  });
});

describe('why a job does not run', () => {
  it('is a rate that nobody has looked at yet', async () => {
    const queue = newQueue();
    const locker = new pg.Client({ connectionString: database.homeOf(TENANT_A).url, application_name: 'test kit' });
    await locker.connect();
    await locker.query('BEGIN');
    // Whoever wants to make the row waits for this one.
    const row = [limitId(TENANT_A, queue, 'r'), TENANT_A, queue, 'r'];
    await locker.query('INSERT INTO millrace.limits (id, tenant, queue, key) VALUES ($1, $2, $3, $4)', row);
    try {
      const id = await createJob(a, queue, rated({ count: 1, per_secs: 3_600 }));
      expect(await why(id)).toMatchObject({ reason: 'rate_limited', ahead: 0 });
    } finally {
      await locker.end();
    }
  });

  it('is a rate, without an instant while those that were let in have no worker', async () => {
    const queue = newQueue();
    const hourly = rated({ count: 1, per_secs: 3_600 });
    const first = await createJob(a, queue, hourly);
    await clock.advance(0.001);
    const second = await createJob(a, queue, hourly);
    await until(async () => (await why(first)).reason !== 'rate_limited', { what: 'the first to be let in' });
    const waits = await why(second);
    expect(waits).toMatchObject({ reason: 'rate_limited', ahead: 0 });
    expect(waits).not.toHaveProperty('until');
    expect(waits.message).toBe(
      '1 per 3600 s may start for r; it is the next of that key, once workers have taken those that may start now.',
    );
    await leaseNext(worker, queue);
    const now = (await clock.now()).getTime();
    const until1 = Date.parse((await why(second)).until as string) - now;
    expect(Math.round(until1 / 60_000)).toBe(60);
  });

  it('is that it expired before it started', async () => {
    const id = await createJob(a, newQueue(), { config: { expires_secs: 60 } });
    await clock.advance(61);
    const { completed_at: at } = await kit.waitFor(a, id, 'cancelled');
    expect(await why(id)).toEqual({
      reason: 'ended',
      message: `The job was cancelled at ${at}: expired before it started.`,
    });
  });
});
