import type { EndedJobs } from '@millrace/contract';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/engine/engine.js';
import { Database } from '../../../src/store/connection/database.js';
import { engineMetrics } from '../../../src/wiring/engine-metrics.js';
import { Metrics } from '../../../src/telemetry/metrics.js';
import type { Client } from '../../support/client.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { lockWaits } from '../../support/lock-waits.js';
import { connectionOf } from '../../support/pooled.js';
import { startTestServer, TENANT_A, TENANT_B } from '../../support/server.js';
import { until } from '../../support/until.js';
import { cancel, complete, createJob, createJobs, fail, lease, newQueue, SWEEP_OFTEN } from '../kit.js';

const database = await cloneDatabase();
const clock = await controlClock(database);
// However long a test takes between two questions, nothing is missed before the clock says so.
await clock.freeze();
const server = await startTestServer({ database, config: { workers: 2 }, intervals: SWEEP_OFTEN });
const { a, b, worker } = server;
afterAll(async () => {
  await server.stop();
  await database.drop();
});

const path = (query: Record<string, string>): string => `/api/v1/jobs/ended?${new URLSearchParams(query).toString()}`;

async function ask(client: Client, query: Record<string, string> = {}): Promise<EndedJobs> {
  const reply = await client.get(path(query));
  expect(reply.status, reply.text).toBe(200);
  return reply.body as EndedJobs;
}

const begin = async (client = a): Promise<string> => (await ask(client)).next;

/** Everything that has ended since, and where to go on. */
async function readOn(after: string, query: Record<string, string> = {}, client = a) {
  const jobs: EndedJobs['jobs'] = [];
  for (;;) {
    const page = await ask(client, { ...query, after });
    expect(page.missed).toBe(false);
    jobs.push(...page.jobs);
    after = page.next;
    if (!page.more) return { jobs, ids: jobs.map(({ id }) => id), next: after };
  }
}

/** A job of the server's own handlers that has ended. */
async function ended(task: string, payload: object = {}, client = a): Promise<string> {
  const id = (await client.post('/api/v1/jobs', { task_name: task, payload })).body.job_id as string;
  const hasEnded = async (): Promise<boolean> =>
    (await client.post('/api/v1/jobs/wait', { job_ids: [id], wait_secs: 30 })).body.pending.length === 0;
  await until(hasEnded, { what: `job ${id} to end` });
  return id;
}

describe('jobs in the order in which they ended', () => {
  it('begins now, and tells each end once, however it came about', async () => {
    const queue = newQueue();
    await ended('echo');
    const [old, ...others] = await createJobs(a, queue, 4);
    const first = await ask(a);
    expect(first).toMatchObject({ jobs: [], more: false, missed: false });
    const ids: string[] = [];
    ids.push(await ended('echo'), await ended('fail', { message: 'no', permanent: true }));
    const leased = await lease(worker, queue, { max_jobs: 3 });
    // Whatever was created later: `old` ends last.
    const byId = (id: string) => leased.find(({ job }) => job.id === id)!;
    await complete(worker, byId(others[0]!));
    await cancel(a, others[1]!);
    await cancel(a, others[2]!);
    await fail(worker, byId(old!), { retryable: false, error: 'gone' });
    ids.push(...others, old!);
    const told = await readOn(first.next);
    expect(told.ids).toEqual(ids);
    expect(told.jobs.map(({ status }) => status)).toEqual([
      ...['completed', 'failed', 'completed', 'cancelled', 'cancelled', 'failed'],
    ]);
    expect(told.jobs[5]).toMatchObject({ id: old, queue_name: queue, error_message: 'gone' });
    expect(told.jobs[5]).not.toHaveProperty('payload');
    expect((await readOn(told.next)).ids).toEqual([]);
    expect((await readOn(first.next)).ids, 'the same question').toEqual(ids);
  });

  it('tells steps of workflows, and jobs that nobody began in time', async () => {
    const after = await begin();
    const steps = [
      { name: 'one', task_name: 'echo' },
      { name: 'two', task_name: 'echo', depends_on: ['one'] },
    ];
    const workflow = (await a.post('/api/v1/workflows', { name: 'chain', steps })).body.workflow_id;
    await until(async () => (await a.get(`/api/v1/workflows/${workflow}`)).body.status === 'completed', {
      what: 'the workflow to end',
    });
    const late = await createJob(a, newQueue(), { config: { expires_secs: 60 } });
    await clock.advance(61);
    await until(async () => (await a.get(`/api/v1/jobs/${late}`)).body.status === 'cancelled', { what: 'the expiry' });
    const { jobs } = await readOn(after);
    expect(jobs.map(({ workflow_step_id, id }) => workflow_step_id ?? id)).toEqual(['one', 'two', late]);
  });

  it('misses none, however many end between two questions', async () => {
    const queue = newQueue();
    const after = await begin();
    // The oldest one ends when hundreds of younger ones have.
    const oldest = await createJob(a, queue);
    const [held] = await lease(worker, queue);
    const ids = await createJobs(a, queue, 250);
    for (let n = 0; n < 250; n += 100) {
      const reports = (await lease(worker, queue, { max_jobs: 100 })).map(({ job, lease_token }) => ({
        ...{ job_id: job.id, lease_token, outcome: 'completed' },
      }));
      await worker.post('/api/v1/reports', { reports });
    }
    await complete(worker, held!);
    const told = await readOn(after, { limit: '100', queue });
    expect(told.ids).toHaveLength(251);
    expect(new Set(told.ids)).toEqual(new Set([oldest, ...ids]));
    expect(told.ids.at(-1)).toBe(oldest);
    const page = await ask(a, { after, limit: '7' });
    expect(page).toMatchObject({ more: true });
    expect(page.jobs).toHaveLength(7);
  });

  it('tells an end whose commit became visible after that of a later one', async () => {
    const queue = newQueue();
    const [slow, quick] = [await createJob(a, queue), await createJob(a, queue)];
    const leased = await lease(worker, queue, { max_jobs: 2 });
    const byId = (id: string) => leased.find(({ job }) => job.id === id)!;
    const after = await begin();
    // The statement that fails a job waits in its midst while this lock is held.
    await database.query(`CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END'`);
    await database.query(`CREATE TRIGGER hold BEFORE INSERT ON millrace.dead_letters
      FOR EACH ROW EXECUTE FUNCTION public.hold()`);
    const lock = new pg.Client({ connectionString: database.homeOf(TENANT_A).url, application_name: 'test kit' });
    await lock.connect();
    try {
      await lock.query('SELECT pg_advisory_lock(4711)');
      const failing = fail(worker, byId(slow), { retryable: false });
      await lockWaits(database);
      await complete(worker, byId(quick));
      const before = await readOn(after);
      expect(before.ids).toEqual([quick]);
      await lock.query('SELECT pg_advisory_unlock(4711)');
      expect((await failing).status).toBe(204);
      expect((await readOn(before.next)).ids).toEqual([slow]);
      expect(new Set((await readOn(after)).ids)).toEqual(new Set([slow, quick]));
    } finally {
      await lock.end();
      await database.query('DROP TRIGGER hold ON millrace.dead_letters');
    }
  });

  it('filters by state, queue and task', async () => {
    const queue = newQueue();
    const after = await begin();
    const done = await ended('echo');
    const failed = await ended('fail', { message: 'no', permanent: true });
    const elsewhere = await createJob(a, queue);
    await cancel(a, elsewhere);
    expect((await readOn(after, { status: 'failed,cancelled' })).ids).toEqual([failed, elsewhere]);
    expect((await readOn(after, { task: 'echo' })).ids).toEqual([done]);
    expect((await readOn(after, { queue })).ids).toEqual([elsewhere]);
    expect((await readOn(after, { queue, status: 'failed', limit: '1' })).ids).toEqual([]);
  });

  it('goes on behind a page that long errors have filled', async () => {
    const queue = newQueue();
    const after = await begin();
    const ids = await createJobs(a, queue, 40);
    const reports = (await lease(worker, queue, { max_jobs: 40 })).map(({ job, lease_token }) => ({
      ...{ job_id: job.id, lease_token, outcome: 'failed', retryable: false, error: 'x'.repeat(60_000) },
    }));
    await worker.post('/api/v1/reports', { reports });
    const page = await ask(a, { after, queue });
    expect(page.more).toBe(true);
    expect(page.jobs.length).toBeLessThan(40);
    expect(new Set((await readOn(after, { queue })).ids)).toEqual(new Set(ids));
  });

  it('tells a tenant nothing of another, and records nothing of who does not ask', async () => {
    const mine = await begin();
    await ended('echo', {}, b);
    expect((await readOn(mine)).ids).toEqual([]);
    const recorded = await database.query('SELECT FROM millrace.recent_ends WHERE tenant = $1', [TENANT_B]);
    expect(recorded).toEqual([]);
    const theirs = await begin(b);
    const id = await ended('echo', {}, b);
    expect((await readOn(theirs, {}, b)).ids).toEqual([id]);
    // The place of another tenant leads nowhere.
    expect(await ask(b, { after: mine })).toMatchObject({ jobs: [], missed: true });
  });

  it('says that ends may be missing when nobody asked for two minutes', async () => {
    const after = await begin();
    await clock.advance(119);
    expect((await readOn(after)).ids).toEqual([]);
    await clock.advance(300);
    await ended('echo');
    const late = await ask(a, { after });
    expect(late).toMatchObject({ jobs: [], more: false, missed: true });
    const id = await ended('echo');
    expect((await readOn(late.next)).ids).toEqual([id]);
  });

  it('is forgotten when nobody will ask any more', async () => {
    await begin();
    await ended('echo');
    await clock.advance(301);
    const db = new Database({
      ...connectionOf(database.homeOf(TENANT_A).url),
      maxConnections: 2,
      logger: pino({ level: 'silent' }),
    });
    const metrics = new Metrics();
    const { maintenance } = createEngine({
      ...{ db, metrics: engineMetrics(metrics), tasks: [], defaultQueue: 'default', maxPayloadBytes: 1_000_000 },
      ready: async () => true,
    });
    await maintenance.forgetTraces();
    metrics.close();
    await db.close();
    const left = 'SELECT FROM millrace.recent_ends UNION ALL SELECT FROM millrace.followed';
    expect(await database.homeOf(TENANT_A).query(left)).toEqual([]);
  });

  it('refuses what is no place', async () => {
    const place = (...parts: unknown[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url');
    const course = '01890000-0000-7000-8000-000000000000';
    const at = '2026-01-31T09:00:00Z';
    const bad = ['x', '10', place(1), place(course, '5:4:', at), place(course, '1:9:3,2', at)];
    bad.push(place(course, '1:9:9', at), place(course, '0:9:', at), place(course, '1:1:', at, '1:1:', at, 'x', '1'));
    for (const after of bad) {
      const reply = await a.get(path({ after }));
      expect(reply.status, after).toBe(400);
    }
    expect((await a.get(path({ status: 'running' }))).status).toBe(400);
    expect(await ask(a, { after: place(course, '1:1:', at) })).toMatchObject({ missed: true });
  });
});
