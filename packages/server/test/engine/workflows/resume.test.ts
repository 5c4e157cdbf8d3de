import { describe, expect, it } from 'vitest';
import type { Reply } from '../../support/client.js';
import { useTestServer } from '../../support/server.js';
import { expectLegal } from './invariants.js';
import { chain, completeJob, hand, ok, step, workflowsOf } from './kit.js';

/** An ended workflow goes on. Remote workers: the test decides how each job ends. */
const { a, b, worker, database } = await useTestServer({ config: { mode: 'api', maxPayloadBytes: 2_000 } });
const workflows = workflowsOf(a);
const remote = hand(worker);

const resume = (id: string, body?: object, headers: Record<string, string> = {}): Promise<Reply> =>
  a.post(`/api/v1/workflows/${id}/resume`, body, headers);
const stepsOf = async (id: string): Promise<Record<string, any>> =>
  Object.fromEntries((await workflows.steps(id)).map((each) => [each.name, each]));
const contextOf = async (id: string, name: string): Promise<any> => (await workflows.job(id, name)).payload._context;

/** a, b and c in a row; c has failed. */
async function failedAtTheLast(context: object = {}): Promise<string> {
  const id = await workflows.create({ name: 'test', context, steps: chain('a', 'b', 'c') });
  await remote.complete(id, 'a', { from_a: 1 });
  await remote.complete(id, 'b', { from_b: 1 });
  await remote.fail(id, 'c');
  expect(await workflows.status(id)).toBe('failed');
  return id;
}

describe('resuming a workflow', () => {
  it('runs what failed again, with the results of what completed', async () => {
    const id = await failedAtTheLast({ order: 1 });
    const before = await stepsOf(id);
    const started = (await workflows.get(id)).started_at;
    const reply = await resume(id);
    expect([reply.status, reply.body]).toEqual([202, { workflow_id: id, steps: ['c'] }]);
    expect(await workflows.get(id)).toMatchObject({ status: 'running', started_at: started, completed_at: null });
    const after = await stepsOf(id);
    expect(after.a).toEqual(before.a);
    expect(after.a).toMatchObject({ run: 1, earlier_job_ids: [] });
    expect(after.c).toMatchObject({ status: 'pending', run: 2, earlier_job_ids: [before.c.job_id], attempts: 0 });
    expect(after.c.job_id).not.toBe(before.c.job_id);
    expect(await contextOf(id, 'c')).toEqual({
      ...{ order: 1, from_a: 1, a: { from_a: 1 }, from_b: 1, b: { from_b: 1 } },
    });
    await remote.complete(id, 'c', { from_c: 1 });
    expect(await workflows.get(id)).toMatchObject({ status: 'completed', context: { from_c: 1, c: { from_c: 1 } } });
    await expectLegal(database);
  });

  it('needs no body, and takes an empty one', async () => {
    for (const body of [undefined, {}, { steps: null, context: null, dry_run: null }]) {
      expect((await resume(await failedAtTheLast(), body)).status).toBe(202);
    }
  });

  it('resets everything behind the steps that it begins with, completed ones too', async () => {
    const id = await failedAtTheLast();
    const before = await stepsOf(id);
    expect((await resume(id, { steps: ['a'] })).body.steps).toEqual(['a', 'b', 'c']);
    expect(await workflows.statuses(id)).toEqual({ a: 'pending', b: 'pending', c: 'pending' });
    expect((await stepsOf(id)).b).toMatchObject({ job_id: null, run: 2, earlier_job_ids: [before.b.job_id] });
    expect(await contextOf(id, 'a')).toEqual({});
    await remote.complete(id, 'a', { again: true });
    expect(await contextOf(id, 'b')).toEqual({ again: true, a: { again: true } });
    await remote.complete(id, 'b');
    await remote.complete(id, 'c');
    expect(await workflows.status(id)).toBe('completed');
  });

  it('leaves other branches alone', async () => {
    const id = await workflows.create([step('x'), step('y', ['x']), step('z', [], { on_failure: 'skip' })]);
    await remote.complete(id, 'x');
    await remote.fail(id, 'z');
    await remote.complete(id, 'y');
    expect(await workflows.status(id)).toBe('partially_failed');
    const before = await stepsOf(id);
    expect((await resume(id, { steps: ['z'] })).body.steps).toEqual(['z']);
    expect((await stepsOf(id)).y).toEqual(before.y);
    await remote.complete(id, 'z');
    expect(await workflows.status(id)).toBe('completed');
  });

  it('runs what was skipped behind a failure', async () => {
    const id = await workflows.create([step('x', [], { on_failure: 'skip' }), step('y', ['x'])]);
    await remote.fail(id, 'x');
    expect(await workflows.statuses(id)).toEqual({ x: 'failed', y: 'skipped' });
    expect((await resume(id)).body.steps).toEqual(['x', 'y']);
    await remote.complete(id, 'x');
    await remote.complete(id, 'y');
    expect(await workflows.status(id)).toBe('completed');
  });

  it('resumes a cancelled workflow where it was, also one that never began', async () => {
    const id = await workflows.create(chain('a', 'b'));
    await remote.complete(id, 'a', { n: 1 });
    await workflows.cancel(id);
    expect((await resume(id)).body.steps).toEqual(['b']);
    await remote.complete(id, 'b');
    expect(await workflows.status(id)).toBe('completed');
    const fresh = await workflows.create(chain('a', 'b'));
    await workflows.cancel(fresh);
    expect((await resume(fresh)).body.steps).toEqual(['a', 'b']);
    expect(await workflows.get(fresh)).toMatchObject({ status: 'created', started_at: null });
  });

  it('says with dry_run what it would do, and does nothing', async () => {
    const id = await failedAtTheLast();
    const before = await workflows.get(id);
    const reply = await resume(id, { steps: ['b'], dry_run: true }, { 'Idempotency-Key': 'unused' });
    expect([reply.status, reply.body]).toEqual([200, { workflow_id: id, steps: ['b', 'c'] }]);
    expect(await workflows.get(id)).toEqual(before);
    expect((await resume(id, {}, { 'Idempotency-Key': 'unused' })).headers.get('idempotency-replayed')).toBeNull();
  });

  it('acts once under a key, and repeats its answer', async () => {
    const id = await failedAtTheLast();
    const key = { 'Idempotency-Key': `again ${id}` };
    const first = await resume(id, { steps: ['b'] }, key);
    await remote.fail(id, 'b');
    const second = await resume(id, { steps: ['b'] }, key);
    expect([second.status, second.body]).toEqual([202, first.body]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await workflows.status(id)).toBe('failed');
    const other = await failedAtTheLast();
    expect((await resume(other, {}, key)).status).toBe(409);
  });
});

describe('the context of a resumed workflow', () => {
  it('is put under what the resume gives, and later results are put over it', async () => {
    const id = await failedAtTheLast({ card: 'old', kept: 1 });
    ok(await resume(id, { context: { card: 'new', from_a: 'patched', big: 12345678901234567890n.toString() } }));
    expect(await contextOf(id, 'c')).toMatchObject({ card: 'new', kept: 1, from_a: 'patched', a: { from_a: 1 } });
    await remote.complete(id, 'c', { card: 'from c' });
    expect((await workflows.get(id)).context).toMatchObject({ card: 'from c', from_a: 'patched' });
  });

  it('begins, at a later resume, with its start and what earlier ones gave, under the results that are kept', async () => {
    const id = await failedAtTheLast({ card: 'old', from_a: 0 });
    ok(await resume(id, { context: { card: 'new', from_a: 'patched', first: 1 } }));
    await remote.fail(id, 'c');
    ok(await resume(id, { context: { second: 2 } }));
    expect(await contextOf(id, 'c')).toMatchObject({ card: 'new', first: 1, second: 2, from_a: 1 });
    await remote.fail(id, 'c');
    ok(await resume(id, { steps: ['a'] }));
    expect(await contextOf(id, 'a')).toEqual({ card: 'new', from_a: 'patched', first: 1, second: 2 });
    expect((await stepsOf(id)).c).toMatchObject({ run: 4, job_id: null });
  });

  it('merges kept results in the order in which they completed', async () => {
    const id = await workflows.create([step('one'), step('two'), step('last', ['one', 'two'])]);
    await remote.complete(id, 'two', { who: 'two' });
    await remote.complete(id, 'one', { who: 'one' });
    await remote.fail(id, 'last');
    ok(await resume(id));
    expect(await contextOf(id, 'last')).toMatchObject({ who: 'one' });
  });

  it('keeps numbers as they were written, and is stored once however many steps receive it', async () => {
    const wide = Array.from({ length: 20 }, (_, n) => step(`n${n}`, ['first']));
    const id = await workflows.create({
      ...{ name: 'test', context: { text: 'x'.repeat(100) }, steps: [step('first'), ...wide] },
    });
    await remote.complete(id, 'first', '{"n":12345678901234567890.10}');
    await workflows.cancel(id);
    ok(await resume(id));
    const text = (await a.get(`/api/v1/jobs/${await workflows.jobId(id, 'n7')}`)).text;
    expect(text).toContain('"n":12345678901234567890.10');
    const stored = await database.query(
      `SELECT DISTINCT context FROM millrace.jobs WHERE workflow_id = $1 AND step LIKE 'n%'`,
      [id],
    );
    expect(stored).toHaveLength(1);
    expect(stored[0]!.context).not.toBeNull();
  });

  it('has the limit of every context', async () => {
    const id = await failedAtTheLast({ text: 'x'.repeat(1_000) });
    const reply = await resume(id, { context: { more: 'y'.repeat(1_000) } });
    expect([reply.status, reply.body.code]).toEqual([413, 'payload_too_large']);
    expect(await workflows.status(id)).toBe('failed');
    ok(await resume(id, { context: { text: 'y'.repeat(1_000) } }));
    const { job, lease_token: token } = await remote.take(id, 'c');
    await completeJob(worker, job.id, token, { text: 'z'.repeat(1_500) });
    expect((await stepsOf(id)).c).toMatchObject({
      status: 'failed',
      error_message: expect.stringContaining('context'),
    });
  });
});

describe('the jobs from before a resume', () => {
  it('keep their workflow and name no step; the list of its jobs has them all', async () => {
    const id = await failedAtTheLast();
    const earlier = await workflows.jobId(id, 'c');
    ok(await resume(id));
    expect(ok(await a.get(`/api/v1/jobs/${earlier}`)).body).toMatchObject({
      ...{ status: 'failed', workflow_id: id, workflow_step_id: null },
    });
    expect((await a.get(`/api/v1/jobs?workflow_id=${id}`)).body.jobs).toHaveLength(4);
    expect((await a.post(`/api/v1/jobs/${earlier}/cancel`)).body.code).toBe('already_finished');
  });

  it('have dead letters that count as replayed, by the first job of the resume', async () => {
    const id = await failedAtTheLast();
    const earlier = await workflows.jobId(id, 'c');
    const letter = (await a.get(`/api/v1/dlq?job_id=${earlier}`)).body.dead_letters[0];
    ok(await resume(id, { steps: ['b'] }));
    const replayed = ok(await a.get(`/api/v1/dlq/${letter.id}`)).body;
    expect(replayed.replay_job_id).toBe(await workflows.jobId(id, 'b'));
    expect(replayed.replayed_at).not.toBeNull();
    expect((await a.post(`/api/v1/dlq/${letter.id}/replay`)).body.code).toBe('already_replayed');
  });

  it('change nothing when they are reported late', async () => {
    const id = await workflows.create(chain('a', 'b'));
    const { job, lease_token: token } = await remote.take(id, 'a');
    await workflows.cancel(id);
    ok(await resume(id));
    const before = await workflows.steps(id);
    await completeJob(worker, job.id, token, { late: true });
    expect(await workflows.steps(id)).toEqual(before);
    expect((await workflows.get(id)).context).toEqual({});
    expect((await worker.post(`/api/v1/jobs/${job.id}/fail`, { lease_token: token, error: 'late' })).status).not.toBe(
      500,
    );
    await remote.complete(id, 'a', { right: true });
    expect(await contextOf(id, 'b')).toEqual({ right: true, a: { right: true } });
  });

  it('let the new job of their step be cancelled', async () => {
    const id = await failedAtTheLast();
    ok(await resume(id));
    await workflows.cancelJob(id, 'c');
    expect([await workflows.status(id), (await stepsOf(id)).c.status]).toEqual(['failed', 'cancelled']);
    await expectLegal(database);
  });
});

describe('a resume is refused', () => {
  it('while the workflow goes on, and after it completed', async () => {
    const id = await workflows.create(chain('a'));
    for (const dry_run of [true, false]) expect((await resume(id, { dry_run })).body.code).toBe('conflict');
    await remote.complete(id, 'a');
    for (const dry_run of [true, false]) {
      const reply = await resume(id, { dry_run });
      expect([reply.status, reply.body.code]).toEqual([409, 'conflict']);
      expect(reply.body.error).toContain('completed');
    }
  });

  it('for a step whose dependency neither completed nor runs again', async () => {
    const id = await workflows.create([...chain('a', 'b'), step('c', ['b', 'd']), step('d')]);
    await remote.fail(id, 'a');
    const reply = await resume(id, { steps: ['d', 'b'] });
    expect([reply.status, reply.body.details[0].path]).toEqual([400, 'steps[1]']);
    expect(reply.body.error).toContain('step "b" depends on "a"');
    const behind = await resume(id, { steps: ['d'] });
    expect([behind.status, behind.body.details[0].path]).toEqual([400, 'steps']);
    expect(behind.body.error).toContain('step "c" depends on "b"');
    expect((await resume(id, { steps: ['a', 'd'] })).body.steps).toEqual(['a', 'b', 'c', 'd']);
  });

  it('for what is no step, no step at all, or no object', async () => {
    const id = await failedAtTheLast();
    const unknown = await resume(id, { steps: ['a', 'nowhere'] });
    expect([unknown.status, unknown.body.details[0].path]).toEqual([400, 'steps[1]']);
    for (const body of [{ steps: [] }, { steps: 'a' }, { steps: [1] }, { context: [] }, { dry_run: 'yes' }]) {
      expect((await resume(id, body)).status, JSON.stringify(body)).toBe(400);
    }
    expect((await resume(id, { steps: Array(1001).fill('a') })).status).toBe(400);
    expect((await resume(id, { steps: ['c', 'c'] })).body.steps).toEqual(['c']);
  });

  it('to other tenants, and for workflows that there are not', async () => {
    const id = await failedAtTheLast();
    expect((await b.post(`/api/v1/workflows/${id}/resume`, {})).status).toBe(403);
    expect((await b.post(`/api/v1/workflows/${id}/resume`, { dry_run: true })).status).toBe(403);
    for (const none of ['019bd0e5-7c58-7a5f-8000-2f9f6a0f8f10', 'no-id']) expect((await resume(none)).status).toBe(404);
    expect(await workflows.status(id)).toBe('failed');
  });

  it('after a hundred resumes', async () => {
    const id = await failedAtTheLast();
    ok(await resume(id));
    await remote.fail(id, 'c');
    await database.query('UPDATE millrace.workflow_resumes SET run = 100 WHERE workflow_id = $1', [id]);
    const reply = await resume(id);
    expect([reply.status, reply.body.error]).toEqual([409, 'the workflow has been resumed 100 times']);
  });
});
