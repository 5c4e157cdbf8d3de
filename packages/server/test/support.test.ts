import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { controlClock } from './support/clock.js';
import { cloneDatabase } from './support/database.js';
import { startTestServer, TENANT_A, TENANT_B } from './support/server.js';
import { until } from './support/until.js';

/** The helpers that the other tests rely on. */
describe('until', () => {
  it('returns the first answer', async () => {
    let asked = 0;
    expect(await until(() => (++asked < 3 ? null : { asked }), { everyMs: 1 })).toEqual({ asked: 3 });
  });

  it('says what it waited for, and why that did not come', async () => {
    await expect(until(() => 'still two', { what: 'one', withinMs: 5, everyMs: 1 })).rejects.toThrow(
      'waited 5 ms for one: still two',
    );
  });
});

describe('a cloned database', () => {
  it('is migrated, and its own', async () => {
    const [one, two] = await Promise.all([cloneDatabase(), cloneDatabase()]);
    await one.query('CREATE TABLE only_here (x int)');
    expect(await one.query("SELECT to_regclass('millrace.migrations') IS NOT NULL AS migrated")).toEqual([
      { migrated: true },
    ]);
    await expect(two.query('SELECT * FROM only_here')).rejects.toThrow(/does not exist/);
    await Promise.all([one.drop(), two.drop()]);
  });

  it('reports a connection that was not closed', async () => {
    const database = await cloneDatabase();
    const leak = new pg.Client({ connectionString: database.url, application_name: 'a leak' });
    leak.on('error', () => undefined); // it is about to be terminated
    await leak.connect();
    await expect(database.drop({ patienceMs: 1 })).rejects.toThrow(/connections still open: .*a leak/);
    await leak.end();
  });
});

describe('a test server', () => {
  it('serves two tenants, workers and nobody', async () => {
    const server = await startTestServer();
    const { body } = await server.a.post('/api/v1/jobs', { task_name: 't', config: { queue: 'q' } });
    expect((await server.a.get(`/api/v1/jobs/${body.job_id}`)).body.tenant_id).toBe(TENANT_A);
    expect((await server.b.get(`/api/v1/jobs/${body.job_id}`)).status).toBe(403);
    expect((await server.b.post('/api/v1/jobs', { task_name: 't', config: { queue: 'q' } })).status).toBe(201);
    const leased = await server.worker.post('/api/v1/queues/q/lease', { max_jobs: 2 });
    expect(leased.body.jobs.map((each: { job: { tenant_id: string } }) => each.job.tenant_id).sort()).toEqual([
      TENANT_A,
      TENANT_B,
    ]);
    expect((await server.nobody.get('/api/v1/jobs')).status).toBe(401);
    await server.stop();
  });

  it('runs on a clock that can be moved', async () => {
    const database = await cloneDatabase();
    const clock = await controlClock(database);
    const server = await startTestServer({ database });
    const inAnHour = new Date((await clock.now()).getTime() + 3_600_000).toISOString();
    await server.a.post('/api/v1/jobs', { task_name: 't', run_at: inAnHour, config: { queue: 'q' } });
    expect((await server.worker.post('/api/v1/queues/q/lease')).body.jobs).toEqual([]);
    await clock.advance(3_601);
    expect((await server.worker.post('/api/v1/queues/q/lease')).body.jobs).toHaveLength(1);
    await server.stop();
    await database.drop();
  });
});
