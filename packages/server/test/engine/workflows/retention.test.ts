import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { expectLegal } from './invariants.js';
import { chain, workflowsOf, hand, step } from './kit.js';

/** Retention runs when a process starts and the last run is more than a minute past. */
describe('retention of one hour', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, config: { mode: 'api' } });
  const { a, worker } = server;
  const workflows = workflowsOf(a);
  const remote = hand(worker);
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  /** One pass to its end, which a stop would not wait for: then the turn is kept for a rest, beyond the present. */
  async function clean(): Promise<void> {
    const cleaner = await startTestServer({ database, config: { mode: 'api', retentionHours: 1 } });
    const resting = `last_run_at > test_clock.clock_timestamp()`;
    const ended = `SELECT FROM millrace.loops WHERE name = 'retention' AND ${resting}`;
    await until(async () => (await database.query(ended)).length > 0, { what: 'the pass to end' });
    await cleaner.stop();
  }

  const statusOf = async (id: string, rest = ''): Promise<number> =>
    (await a.get(`/api/v1/workflows/${id}${rest}`)).status;

  it('removes an ended workflow with the jobs of its steps, by the end of the workflow and not of the steps', async () => {
    const [old, late] = [await workflows.create(chain('x', 'y')), await workflows.create(chain('x', 'y'))];
    const [oldJob, lateJob] = [await workflows.jobId(old, 'x'), await workflows.jobId(late, 'x')];
    await remote.complete(old, 'x', { text: 'x'.repeat(1000) });
    await remote.complete(old, 'y');
    await remote.complete(late, 'x', { kept: true });
    expect(await database.query('SELECT FROM millrace.workflow_contexts')).toHaveLength(1);
    await clock.advance(3_500);
    await remote.complete(late, 'y');
    await clock.advance(500);
    await clean();
    for (const rest of ['', '/steps', '/diagram']) expect(await statusOf(old, rest)).toBe(404);
    expect((await a.post(`/api/v1/workflows/${old}/cancel`)).status).toBe(404);
    expect((await a.get(`/api/v1/jobs/${oldJob}`)).status).toBe(404);
    expect(await workflows.get(late)).toMatchObject({ status: 'completed', context: { kept: true } });
    expect((await a.get(`/api/v1/jobs/${lateJob}`)).status).toBe(200);
    await clock.advance(3_700);
    await clean();
    expect(await statusOf(late)).toBe(404);
    const left = await database.query(`
      SELECT (SELECT count(*)::int FROM millrace.workflows) AS workflows, (SELECT count(*)::int FROM millrace.workflow_ends) AS ends,
             (SELECT count(*)::int FROM millrace.jobs) AS jobs, (SELECT count(*)::int FROM millrace.done) AS done,
             (SELECT count(*)::int FROM millrace.workflow_contexts) AS contexts`);
    expect(left).toEqual([{ workflows: 0, ends: 0, jobs: 0, done: 0, contexts: 0 }]);
  });

  it('leaves a workflow that goes on alone, with steps that ended long ago and results nobody has used yet', async () => {
    const id = await workflows.create([step('x'), step('y'), step('join', ['x', 'y'])]);
    await remote.complete(id, 'x', { from: 'long ago' });
    await clock.advance(10 * 3_600);
    await clean();
    expect(await workflows.statuses(id)).toMatchObject({ x: 'completed', join: 'pending' });
    await until(async () => (await workflows.job(id, 'y')).status !== 'running', {
      what: 'the lost lease to be reclaimed',
    });
    await clock.advance(600);
    expect(await remote.held(id)).toEqual(['y']);
    await remote.complete(id, 'y');
    expect((await remote.take(id, 'join')).job.payload._context).toMatchObject({ from: 'long ago' });
    await expectLegal(database);
  });
});
