import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import { complete, lease, leaseOne, newQueue } from '../kit.js';
import { advanceTo, cronsOf } from './harness.js';

/** Schedules that start workflows. The clock stands still but for what the tests let pass. */
const database = await cloneDatabase();
const clock = await controlClock(database);
const server = await startTestServer({ database, config: { workers: 1, maxPayloadBytes: 8_192 } });
// A second scheduler, which is after the same occurrences.
const other = await startAnotherServer(database, { workers: 1 });
const { a, worker } = server;
const desk = cronsOf(a);
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});
await clock.freeze();

const twoSteps = (queue: string, more: object = {}) => ({
  name: 'books',
  steps: [
    { name: 'load', task_name: 'load_books', queue, payload: { n: 1 } },
    { name: 'send', task_name: 'send_books', queue, depends_on: ['load'] },
  ],
  ...more,
});
const started = async (id: string): Promise<any[]> => {
  const { body } = await a.get('/api/v1/workflows?limit=100&order_by=created_at+ASC');
  return body.workflows.filter((workflow: any) => workflow.metadata.cron_id === id);
};
const put = async (fields: object): Promise<string> =>
  desk.put(`put-${newQueue()}`, { task_name: undefined, cron_expr: '@daily', ...fields });
const kinds = async (id: string): Promise<string[]> => (await desk.firings(id)).map(({ kind }) => kind).reverse();
async function pass(id: string): Promise<void> {
  const { length } = await desk.firings(id);
  await advanceTo(clock, (await desk.get(id)).next_run_at);
  await until(async () => (await desk.firings(id)).length > length, { what: 'the occurrence to be recorded' });
}
const refused = async (body: object): Promise<any> => {
  const { status, body: answer } = await a.send('PUT', '/api/v1/cron/refused', { body });
  expect(status).toBe(400);
  return answer;
};

describe('a schedule that starts workflows', () => {
  it('starts one at each occurrence, whose steps run like those of any other', async () => {
    const queue = newQueue();
    const id = await put({ workflow: twoSteps(queue, { context: { year: 7 }, metadata: { by: 'me' } }) });
    const shown: any = await desk.get(id);
    expect(shown).toMatchObject({ task_name: null, queue_name: null, payload: {}, config: {} });
    expect(shown.workflow).toMatchObject({ name: 'books', context: { year: 7 }, metadata: { by: 'me' } });
    const { next_run_at: due } = shown;
    await pass(id);
    const first = await leaseOne(worker, queue);
    expect(first.job).toMatchObject({ task_name: 'load_books', payload: { n: 1, _context: { year: 7 } } });
    await complete(worker, first);
    await complete(worker, await leaseOne(worker, queue));
    await pass(id);
    const [one, two, ...more] = await started(id);
    expect(more).toEqual([]);
    expect(one).toMatchObject({ name: 'books', status: 'completed' });
    expect(one.metadata).toEqual({ by: 'me', cron_id: id, cron_name: shown.name, cron_due_at: due });
    expect(two.metadata.cron_due_at > due!).toBe(true);
    expect(await desk.firings(id)).toMatchObject([
      { kind: 'on_time', job_id: null, workflow_id: two.id },
      { kind: 'on_time', job_id: null, workflow_id: one.id, occurrence: due },
    ]);
    expect((await desk.get(id)).last_enqueued_at).not.toBeNull();
  });

  it('skips while the workflow of the last firing has not ended, one that was triggered included', async () => {
    const queue = newQueue();
    const id = await put({ workflow: twoSteps(queue), overlap: 'skip' });
    await pass(id);
    await complete(worker, await leaseOne(worker, queue));
    await pass(id);
    await complete(worker, await leaseOne(worker, queue));
    await pass(id);
    const { body, headers } = await a.post(`/api/v1/cron/${id}/trigger`);
    expect(headers.get('location')).toBe(`/api/v1/workflows/${body.workflow_id}`);
    await a.post(`/api/v1/workflows/${(await desk.firings(id))[1]!.workflow_id}/cancel`);
    await pass(id);
    await a.post(`/api/v1/workflows/${body.workflow_id}/cancel`);
    await pass(id);
    expect(await kinds(id)).toEqual(['on_time', 'skipped', 'on_time', 'triggered', 'skipped', 'on_time']);
  });

  it('heeds what it was before: a job that has not ended, or a workflow', async () => {
    const queue = newQueue();
    const name = `turns-${queue}`;
    const timetable = { cron_expr: '@daily', overlap: 'skip' };
    const id = await desk.put(name, { ...timetable, queue });
    await pass(id);
    const { job_id: job } = (await desk.firings(id))[0]!;
    const workflow = { ...timetable, task_name: undefined, workflow: twoSteps(queue) };
    expect(await desk.put(name, workflow)).toBe(id);
    await pass(id);
    await a.post(`/api/v1/jobs/${job}/cancel`);
    await pass(id);
    await desk.put(name, { ...timetable, queue });
    expect(await desk.get(id)).toMatchObject({ task_name: 'echo', workflow: null });
    await pass(id);
    await a.post(`/api/v1/workflows/${(await desk.firings(id))[1]!.workflow_id}/cancel`);
    await pass(id);
    expect(await kinds(id)).toEqual(['on_time', 'skipped', 'on_time', 'skipped', 'on_time']);
    expect((await desk.firings(id))[0]).toMatchObject({ workflow_id: null, job_id: expect.any(String) as unknown });
  });

  it('is triggered once under a key', async () => {
    const id = await put({ workflow: twoSteps(newQueue()) });
    const headers = { 'idempotency-key': `trigger ${id}` };
    const [one, two] = [
      await a.send('POST', `/api/v1/cron/${id}/trigger`, { headers }),
      await a.send('POST', `/api/v1/cron/${id}/trigger`, { headers }),
    ];
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(two.body).toEqual(one.body);
    expect(two.headers.get('idempotency-replayed')).toBe('true');
    const [workflow, ...more] = await started(id);
    expect(more).toEqual([]);
    expect(workflow).toMatchObject({ id: one.body.workflow_id, metadata: { cron_id: id } });
    expect(workflow.metadata).not.toHaveProperty('cron_due_at');
    expect(await server.b.post(`/api/v1/cron/${id}/trigger`)).toMatchObject({ status: 403 });
  });

  it('shows what can be sent again, steps that decide and wait included', async () => {
    const queue = newQueue();
    const steps = [
      { name: 'ask', wait: { signal: 'approved', timeout_secs: 60, ask: { text: 'Go on?' } } },
      { name: 'go', task_name: 'go', queue, depends_on: ['ask'], when: { ref: { $step: 'ask' }, is_not: null } },
    ];
    const id = await put({ workflow: { name: 'asked', steps } });
    const { name, workflow }: any = await desk.get(id);
    expect(await desk.put(name, { task_name: undefined, cron_expr: '@daily', workflow })).toBe(id);
    expect(((await desk.get(id)) as any).workflow).toEqual(workflow);
    await pass(id);
    const [flow] = await started(id);
    await a.post(`/api/v1/workflows/${flow.id}/signals/approved`, { value: { yes: true } });
    await complete(worker, await until(async () => (await lease(worker, queue))[0], { what: 'the next step' }));
    expect((await a.get(`/api/v1/workflows/${flow.id}`)).body.status).toBe('completed');
  });

  it('starts a hundred at one instant, each once', async () => {
    const queue = newQueue();
    const ids = await Promise.all(Array.from({ length: 100 }, () => put({ workflow: twoSteps(queue) })));
    await advanceTo(clock, (await desk.get(ids[0]!)).next_run_at);
    for (const id of ids) {
      await until(async () => (await desk.firings(id)).length === 1, { what: 'the firing to be recorded' });
    }
    const counted = await database.query(
      `SELECT count(*)::int AS n FROM millrace.jobs WHERE queue = '${queue}' AND task = 'load_books'`,
    );
    expect(counted).toEqual([{ n: 100 }]);
  });
});

describe('what is refused', () => {
  const timetable = { cron_expr: '@daily' };

  it('is what a workflow of that kind would be refused for, under its path', async () => {
    const a1 = { name: 'a', task_name: 't' };
    const paths = async (workflow: object): Promise<string[]> =>
      (await refused({ ...timetable, workflow })).details.map(({ path }: { path: string }) => path);
    expect(await paths({ name: 'x', steps: [a1, a1] })).toEqual(['workflow.steps[1].name']);
    expect(await paths({ name: 'x', steps: [{ ...a1, depends_on: ['b'] }] })).toEqual(['workflow.steps[0].depends_on']);
    expect(await paths({ name: 'x', steps: [{ ...a1, depends_on: [7] }] })).toEqual([
      'workflow.steps[0].depends_on[0]',
    ]);
    expect(await paths({ name: 'x', steps: [{ name: 'a' }] })).toEqual(['workflow.steps[0].task_name']);
    expect(await paths({ name: 'x', steps: [] })).toEqual(['workflow.steps']);
    expect(await paths({ steps: [a1] })).toEqual(['workflow.name']);
    expect(await paths({ name: 'x', steps: Array.from({ length: 1_001 }, () => a1) })).toEqual(['workflow.steps']);
    expect(await paths({ name: 'x', steps: [{ ...a1, queue: 'millrace:waits' }] })).toEqual([
      'workflow.steps[0].queue',
    ]);
  });

  it('is a workflow beside what belongs to a job, neither of both, and one that is too large', async () => {
    const workflow = twoSteps('q');
    for (const extra of [{ task_name: 't' }, { payload: {} }, { queue: 'q' }, { config: {} }]) {
      const { details } = await refused({ ...timetable, workflow, ...extra });
      expect(details).toMatchObject([{ path: Object.keys(extra)[0], message: expect.stringMatching(/left out/) }]);
    }
    expect((await refused(timetable)).details).toMatchObject([{ path: 'task_name' }]);
    const large = twoSteps('q', { context: { text: 'x'.repeat(4_000) }, metadata: { text: 'x'.repeat(4_000) } });
    const { status, body } = await a.send('PUT', '/api/v1/cron/large', { body: { ...timetable, workflow: large } });
    expect([status, body.code]).toEqual([413, 'payload_too_large']);
  });
});
