import { describe, expect, it } from 'vitest';
import { startTestServer, useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { blockRunOf } from '../blocking.js';
import { deadLettersOf } from '../kit.js';
import { expectLegal } from './invariants.js';
import { chain, completeJob, hand, workflowsOf, step } from './kit.js';

/** What enters a context counts once, in bytes of JSON: here a thousand of them are allowed. */
const LIMIT = 1_000;
const limited = { config: { mode: 'api', maxPayloadBytes: LIMIT } } as const;

/** A result of so many bytes. */
const result = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`;

describe('a context that would exceed the limit', async () => {
  const { a, worker, database } = await useTestServer(limited);
  const workflows = workflowsOf(a);
  const remote = hand(worker);

  async function report(id: string, name: string, text: string): Promise<number> {
    const { job, lease_token: token } = await remote.take(id, name);
    return (await completeJob(worker, job.id, token, text)).status;
  }

  it('fails the step that makes it so, for good, and its report is taken', async () => {
    const id = await workflows.create(chain('x', 'y', 'z'));
    expect(await report(id, 'x', result(600))).toBe(204);
    expect(await report(id, 'y', result(401))).toBe(204);
    const job = await workflows.job(id, 'y');
    expect(job).toMatchObject({ status: 'failed', result: null, retry_count: 0 });
    expect(job.error_message).toBe(
      'with the result of this step the context of the workflow would hold 1001 bytes; 1000 are allowed (--max-payload-bytes)',
    );
    expect(await deadLettersOf(a, job.id)).toMatchObject([
      { reason: 'non_retryable', error_message: job.error_message },
    ]);
    expect(await workflows.statuses(id)).toEqual({ x: 'completed', y: 'failed', z: 'cancelled' });
    expect(await workflows.get(id)).toMatchObject({ status: 'failed', context: { x: JSON.parse(result(600)) } });
  });

  it('may come up to the limit itself, and takes empty results then', async () => {
    const id = await workflows.create(chain('x', 'y', 'z'));
    await report(id, 'x', result(600));
    await report(id, 'y', result(400));
    await report(id, 'z', '{}');
    expect(await workflows.status(id)).toBe('completed');
  });

  it.each([
    ['skip', { after: 'skipped', beside: 'running' }],
    ['continue', { after: 'pending', beside: 'running' }],
    ['halt', { after: 'cancelled', beside: 'cancelled' }],
  ])('acts by the policy of the step: %s', async (policy, expected) => {
    const steps = [step('big', [], { on_failure: policy }), step('beside'), step('after', ['big'])];
    const id = await workflows.create({ name: 'w', context: { n: 1 }, steps });
    await report(id, 'big', result(LIMIT));
    expect(await workflows.statuses(id)).toEqual({ ...expected, big: 'failed' });
  });

  it('is judged at the completion, not at the join', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const id = await workflows.create([
      ...names.map((name) => step(name, [], { on_failure: 'continue' })),
      step('join', names),
    ]);
    for (const name of names) await report(id, name, result(400));
    expect(await workflows.statuses(id)).toMatchObject({ a: 'completed', b: 'completed', c: 'failed', d: 'failed' });
    expect(Object.keys((await remote.take(id, 'join')).job.payload._context)).toEqual(['a', 'b']);
  });

  it('is judged once for completions that are reported together', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
    const id = await workflows.create(names.map((name) => step(name, [], { on_failure: 'continue' })));
    const leased = await Promise.all(names.map((name) => remote.take(id, name)));
    const replies = await Promise.all(
      leased.flatMap(({ job, lease_token: token }) =>
        // Twice each: only one report of a job acts, and only that one counts.
        [1, 2].map(() => completeJob(worker, job.id, token, result(100))),
      ),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([204]));
    const statuses = Object.values(await workflows.statuses(id));
    expect(statuses.filter((status) => status === 'completed')).toHaveLength(10);
    expect(statuses.filter((status) => status === 'failed')).toHaveLength(10);
    await expectLegal(database);
  });

  it('is counted once for a completion that two processes are told at the same moment', async () => {
    const id = await workflows.create([step('x'), step('y')]);
    const [x, y] = [await remote.take(id, 'x'), await remote.take(id, 'y')];
    const completed = ({ job, lease_token }: typeof x): object => ({
      job_id: job.id,
      lease_token,
      outcome: 'completed',
      result: JSON.parse(result(400)) as object,
    });
    const other = await startTestServer({ ...limited, database });
    const block = await blockRunOf(database, id);
    const first = completeJob(worker, x.job.id, x.lease_token, result(400));
    await block.held(1);
    // It has seen the lease of x when the first one ends it, and must not count x again.
    const second = other.worker.post('/api/v1/reports', { reports: [completed(x), completed(y)] });
    await block.held(2);
    await block.release();
    expect((await first).status).toBe(204);
    expect((await second).status).toBe(200);
    expect(await workflows.statuses(id)).toEqual({ x: 'completed', y: 'completed' });
    await other.stop();
  });

  it('counts the context that the workflow was created with', async () => {
    const context = JSON.parse(result(900)) as object;
    const id = await workflows.create({
      name: 'w',
      context,
      steps: [step('x', [], { on_failure: 'continue' }), step('y', ['x'])],
    });
    await report(id, 'x', result(101));
    await report(id, 'y', result(100));
    expect(await workflows.statuses(id)).toEqual({ x: 'failed', y: 'completed' });
  });

  it('does not count a context that a step hands back', async () => {
    const id = await workflows.create(chain('x', 'y', 'z'));
    await report(id, 'x', result(400));
    for (const name of ['y', 'z']) {
      const { job, lease_token: token } = await remote.take(id, name);
      const text = `{"own":"${name}","_context":{"part":"${'x'.repeat(700)}"}}`;
      expect((await completeJob(worker, job.id, token, text)).status).toBe(204);
    }
    expect(await workflows.status(id)).toBe('completed');
  });
});

it('fails a step of the pool in the same way', async () => {
  const server = await useTestServer({
    config: { maxPayloadBytes: LIMIT },
    handlers: { produce: () => ({ text: 'x'.repeat(600) }) },
  });
  const workflows = workflowsOf(server.a);
  const produce = (name: string, dependsOn: readonly string[] = []): object =>
    step(name, dependsOn, { task_name: 'produce' });
  const id = await workflows.create([produce('x'), produce('y', ['x'])]);
  await until(async () => (await workflows.status(id)) === 'failed');
  expect(await workflows.job(id, 'y')).toMatchObject({
    status: 'failed',
    retry_count: 0,
    error_message: expect.stringContaining('the context of the workflow would hold'),
  });
});
