import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { comparable } from '../kit.js';
import { chain, completeJob, workflowsOf, hand, ok, step, type WorkflowsOfTenant } from './kit.js';

/** What becomes of a workflow when a step does not complete. Remote workers: the test decides how each job ends. */
const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });
const workflows = workflowsOf(a);
const remote = hand(worker);

const deadLetters = async (workflows: WorkflowsOfTenant, id: string): Promise<unknown[]> => {
  const jobs = (await workflows.steps(id)).map((each) => each.job_id).filter((job) => job !== null);
  return database.query('SELECT reason FROM millrace.dead_letters WHERE job_id = ANY ($1)', [jobs]);
};

/**
 *   a ─ b ─ d ─ g
 *     ╲ c ╱
 *   e ─ f          (e is running, f waits for it, when b comes to its end)
 */
async function untilBRuns(policy: string): Promise<string> {
  const id = await workflows.create([
    step('a'),
    step('b', ['a'], { on_failure: policy }),
    step('c', ['a']),
    step('d', ['b', 'c']),
    step('e'),
    step('f', ['e']),
    step('g', ['d']),
  ]);
  await remote.complete(id, 'a', { from_a: 1 });
  expect(await remote.held(id)).toEqual(expect.arrayContaining(['b', 'c', 'e']));
  return id;
}

const ENDINGS = {
  failed: (id: string) => remote.fail(id, 'b'),
  cancelled: (id: string) => workflows.cancelJob(id, 'b'),
} as const;

describe.each(['failed', 'cancelled'] as const)('a step that has %s', (how) => {
  it('under halt: the workflow fails and everything unfinished is cancelled, running jobs too', async () => {
    const id = await untilBRuns('halt');
    const running = await remote.take(id, 'c');
    await ENDINGS[how](id);
    const workflow = await workflows.get(id);
    expect(workflow).toMatchObject({ status: 'failed', context: { from_a: 1, a: { from_a: 1 } } });
    expect(workflow.completed_at).not.toBeNull();
    expect(await workflows.statuses(id)).toEqual({
      ...{ a: 'completed', b: how, c: 'cancelled', d: 'cancelled', e: 'cancelled', f: 'cancelled', g: 'cancelled' },
    });
    const steps = await workflows.steps(id);
    expect(steps.filter((each) => each.job_id === null).map((each) => each.name)).toEqual(['d', 'f', 'g']);
    for (const name of ['c', 'e']) expect((await workflows.job(id, name)).status).toBe('cancelled');
    const beat = await worker.post(`/api/v1/jobs/${running.job.id}/heartbeat`, {
      lease_token: running.lease_token,
      extend_secs: 30,
    });
    expect([beat.status, beat.body]).toEqual([200, { status: 'cancelled' }]);
    expect((await completeJob(worker, running.job.id, running.lease_token, { late: 1 })).status).toBe(204);
    expect(await workflows.get(id)).toEqual(workflow);
    expect(await deadLetters(workflows, id)).toEqual(how === 'failed' ? [{ reason: 'non_retryable' }] : []);
  });

  it('under skip: what depends on it is skipped, the rest goes on', async () => {
    const id = await untilBRuns('skip');
    await ENDINGS[how](id);
    expect(await workflows.status(id)).toBe('running');
    expect(await workflows.statuses(id)).toEqual({
      ...{ a: 'completed', b: how, c: 'running', d: 'skipped', e: 'running', f: 'pending', g: 'skipped' },
    });
    await remote.complete(id, 'c');
    await remote.complete(id, 'e');
    expect(await remote.held(id)).toContain('f');
    await remote.complete(id, 'f');
    expect(await workflows.status(id)).toBe('partially_failed');
    expect(await workflows.statuses(id)).toMatchObject({ b: how, d: 'skipped', f: 'completed', g: 'skipped' });
    expect((await workflows.steps(id)).filter((each) => each.status === 'skipped').map((each) => each.job_id)).toEqual([
      null,
      null,
    ]);
  });

  it('under continue: what depends on it runs as if it had completed', async () => {
    const id = await untilBRuns('continue');
    await ENDINGS[how](id);
    await remote.complete(id, 'c', { from_c: 3 });
    const { job, lease_token: token } = await remote.take(id, 'd');
    expect(job.payload._context).toEqual({ from_a: 1, from_c: 3, a: { from_a: 1 }, c: { from_c: 3 } });
    ok(await completeJob(worker, job.id, token));
    for (const name of ['e', 'f', 'g']) await remote.complete(id, name);
    expect(await workflows.status(id)).toBe('partially_failed');
    expect(await workflows.statuses(id)).toMatchObject({ b: how, d: 'completed', g: 'completed' });
  });

  it.each([
    ['halt', 'failed'],
    ['skip', 'partially_failed'],
    ['continue', 'partially_failed'],
  ])('under %s as the only step: the workflow is %s', async (on_failure, status) => {
    const id = await workflows.create([step('b', [], { on_failure })]);
    await (how === 'failed' ? remote.fail(id, 'b') : workflows.cancelJob(id, 'b'));
    expect(await workflows.status(id)).toBe(status);
    expect(await workflows.statuses(id)).toEqual({ b: how });
  });
});

describe('a job that is cancelled by hand', () => {
  it.each(['halt', 'skip', 'continue'])('while it waits, under %s', async (on_failure) => {
    const id = await workflows.create([step('b', [], { on_failure }), step('c', ['b'])]);
    await workflows.cancelJob(id, 'b');
    const expected = { halt: 'cancelled', skip: 'skipped', continue: 'pending' }[on_failure];
    expect(await workflows.statuses(id)).toEqual({ b: 'cancelled', c: expected });
    expect(await workflows.status(id)).toBe(
      { halt: 'failed', skip: 'partially_failed', continue: 'running' }[on_failure],
    );
    if (on_failure !== 'continue') return;
    await remote.complete(id, 'c');
    expect(await workflows.status(id)).toBe('partially_failed');
  });

  it('between two attempts', async () => {
    const id = await workflows.create([step('b', [], { on_failure: 'skip' }), step('c', ['b'])]);
    await remote.fail(id, 'b', { retryable: true });
    expect((await workflows.job(id, 'b')).status).toBe('retrying');
    await workflows.cancelJob(id, 'b');
    expect(await workflows.status(id)).toBe('partially_failed');
    expect(await workflows.statuses(id)).toEqual({ b: 'cancelled', c: 'skipped' });
  });

  it('twice is too late the second time', async () => {
    const id = await workflows.create([step('b', [], { on_failure: 'continue' }), step('c', ['b'])]);
    await workflows.cancelJob(id, 'b');
    const again = await a.post(`/api/v1/jobs/${await workflows.jobId(id, 'b')}/cancel`);
    expect([again.status, again.body.code]).toEqual([409, 'already_finished']);
    expect(await remote.held(id)).toEqual(['c']);
  });
});

describe('a failure that is not the end', () => {
  it('keeps the workflow running while budget remains', async () => {
    const config = { max_retries: 1, retry_delay_secs: 0 };
    const id = await workflows.create([step('b', [], { config }), step('c', ['b'])]);
    await remote.fail(id, 'b', { retryable: true });
    expect(await workflows.status(id)).toBe('running');
    expect(await workflows.statuses(id)).toEqual({ b: 'running', c: 'pending' });
    expect((await workflows.job(id, 'b')).status).toBe('retrying');
    expect((await workflows.steps(id))[1]!.job_id).toBeNull();
    await remote.complete(id, 'b', { at: 'last' });
    expect((await remote.take(id, 'c')).job.payload._context).toMatchObject({ at: 'last' });
  });

  it('becomes one when the budget is spent, and nothing after it is enqueued', async () => {
    const config = { max_retries: 2, retry_delay_secs: 0 };
    const id = await workflows.create([step('b', [], { config }), step('c', ['b'])]);
    for (let attempt = 0; attempt < 3; attempt++) await remote.fail(id, 'b', { retryable: true });
    expect(await workflows.status(id)).toBe('failed');
    expect(await workflows.statuses(id)).toEqual({ b: 'failed', c: 'cancelled' });
    expect(await remote.held(id)).toEqual([]);
    expect(await deadLetters(workflows, id)).toEqual([{ reason: 'max_attempts_exceeded' }]);
  });

  it('replays as a job of its own', async () => {
    const id = await workflows.create([step('b', [], { on_failure: 'continue' }), step('c', ['b'])]);
    await remote.fail(id, 'b');
    const job = await workflows.jobId(id, 'b');
    const [letter] = await database.query('SELECT id::int FROM millrace.dead_letters WHERE job_id = $1', [job]);
    const replay = await a.post(`/api/v1/dlq/${String(letter!.id)}/replay`);
    expect(replay.status).toBe(201);
    expect((await a.get(`/api/v1/jobs/${replay.body.job_id}`)).body).toMatchObject({
      workflow_id: null,
      workflow_step_id: null,
      payload: { _context: {} },
    });
    expect((await workflows.steps(id))[0]).toMatchObject({ status: 'failed', job_id: job });
  });
});

describe('the end of a step', () => {
  it.each(['complete', 'fail'])('is reported by %s under an id in capitals as well', async (what) => {
    const id = await workflows.create(chain('x', 'y'));
    const { job, lease_token } = await remote.take(id, 'x');
    const body = { lease_token: lease_token.toUpperCase(), error: 'no', retryable: false };
    expect((await worker.post(`/api/v1/jobs/${job.id.toUpperCase()}/${what}`, body)).status).toBe(204);
    expect(await workflows.statuses(id)).toMatchObject({ x: what === 'fail' ? 'failed' : 'completed' });
  });
});

describe('statuses', () => {
  it('follow the first claim, each ending and the end', async () => {
    const id = await workflows.create(chain('x', 'y'));
    expect(await workflows.get(id)).toMatchObject({ status: 'created', started_at: null, completed_at: null });
    const first = await remote.take(id, 'x');
    const started = await workflows.get(id);
    expect(started).toMatchObject({ status: 'running', completed_at: null });
    expect(comparable(started.started_at) >= comparable(started.created_at)).toBe(true);
    expect(await workflows.statuses(id)).toEqual({ x: 'running', y: 'pending' });
    ok(await completeJob(worker, first.job.id, first.lease_token));
    expect(await workflows.statuses(id)).toEqual({ x: 'completed', y: 'pending' });
    await remote.complete(id, 'y');
    const ended = await workflows.get(id);
    expect(ended).toMatchObject({ status: 'completed', started_at: started.started_at });
    expect(comparable(ended.completed_at) >= comparable(ended.started_at)).toBe(true);
  });
});
