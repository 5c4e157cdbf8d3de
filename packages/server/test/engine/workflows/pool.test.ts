import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { expectLegal } from './invariants.js';
import { workflowsOf, step, TERMINAL } from './kit.js';

/** Workflows whose steps run inside the server. */
describe('in-process handlers', async () => {
  const seen: { step: string | null; attempt: number }[] = [];
  const stopped: (string | null)[] = [];
  const { a, nobody, metricsUrl, database } = await useTestServer({
    handlers: {
      flaky: (_payload, { job }) => {
        seen.push({ step: job.workflowStep, attempt: job.attempt });
        if (job.attempt < 3) throw new Error(`attempt ${job.attempt}`);
        return { tries: job.attempt };
      },
      forever: (_payload, { signal, job }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped.push(job.workflowId);
            reject(new Error('stopped'));
          });
        }),
    },
  });
  const workflows = workflowsOf(a);

  async function run(steps: readonly object[]): Promise<any> {
    const id = await workflows.create(steps);
    await until(async () => TERMINAL.includes(await workflows.status(id)), {
      what: 'the workflow to end',
    });
    return workflows.get(id);
  }
  const task = (name: string, task_name: string, dependsOn: readonly string[] = [], more: object = {}): object =>
    step(name, dependsOn, { task_name, ...more });

  it('run a graph to its end and pass the context on', async () => {
    const ended = await run([
      task('a', 'echo', [], { payload: { x: 1 } }),
      task('b', 'echo', ['a'], { payload: { y: 2 } }),
      task('c', 'sleep', ['a'], { payload: { duration_ms: 1 } }),
      task('d', 'echo', ['b', 'c'], { payload: { z: 3 } }),
    ]);
    expect(ended.status).toBe('completed');
    expect(ended.context).toEqual({
      ...{ x: 1, y: 2, z: 3, slept_for: 0.001 },
      ...{ a: { x: 1 }, b: { y: 2 }, c: { slept_for: 0.001 }, d: { z: 3 } },
    });
    expect((await workflows.job(ended.id, 'd')).result).toEqual({
      z: 3,
      _context: { x: 1, y: 2, slept_for: 0.001, a: { x: 1 }, b: { y: 2 }, c: { slept_for: 0.001 } },
    });
  });

  it('try a step again while its budget lasts', async () => {
    const config = { retry_delay_secs: 0 };
    const ended = await run([task('once', 'flaky', [], { config }), task('then', 'echo', ['once'])]);
    expect(ended).toMatchObject({ status: 'completed', context: { tries: 3 } });
    expect(seen).toEqual([1, 2, 3].map((attempt) => ({ step: 'once', attempt })));
  });

  it.each([
    ['halt', 'failed', { bad: 'failed', next: 'cancelled', other: 'cancelled' }],
    ['skip', 'partially_failed', { bad: 'failed', next: 'skipped', other: 'completed' }],
    ['continue', 'partially_failed', { bad: 'failed', next: 'completed', other: 'completed' }],
  ])('follow %s when a step fails for good', async (on_failure, status, statuses) => {
    const payload = { permanent: true, message: 'no way' };
    const steps = [
      task('first', 'echo'),
      task('bad', 'fail', ['first'], { payload, on_failure }),
      task('next', 'echo', ['bad']),
      // Under halt it must still be there to be cancelled; otherwise it must come to an end.
      task('other', on_failure === 'halt' ? 'forever' : 'echo'),
    ];
    const ended = await run(steps);
    expect(ended.status).toBe(status);
    expect(await workflows.statuses(ended.id)).toEqual({ first: 'completed', ...statuses });
    expect((await workflows.job(ended.id, 'bad')).error_message).toBe('no way');
  });

  it.each([
    ['halt', 'failed', 'cancelled'],
    ['skip', 'partially_failed', 'skipped'],
    ['continue', 'partially_failed', 'completed'],
  ])('follow %s when nobody knows the task', async (on_failure, status, next) => {
    const ended = await run([task('lost', 'no such task', [], { on_failure }), task('next', 'echo', ['lost'])]);
    expect(ended.status).toBe(status);
    expect(await workflows.statuses(ended.id)).toEqual({ lost: 'failed', next });
    const job = await workflows.jobId(ended.id, 'lost');
    expect(await database.query('SELECT reason FROM millrace.dead_letters WHERE job_id = $1', [job])).toEqual([
      { reason: 'handler_not_found' },
    ]);
  });

  it('stop when their workflow is cancelled', async () => {
    const id = await workflows.create([task('stuck', 'forever'), task('next', 'echo', ['stuck'])]);
    await until(async () => (await workflows.statuses(id)).stuck === 'running');
    await workflows.cancel(id);
    expect(await workflows.statuses(id)).toEqual({ stuck: 'cancelled', next: 'cancelled' });
    await until(() => stopped.includes(id), { what: 'the handler to be told' });
    expect(await workflows.status(id)).toBe('cancelled');
  });

  it('count workflows by how they ended', async () => {
    const measured = async (): Promise<Record<string, number>> => {
      const { text } = await nobody.get(`${metricsUrl}/metrics`);
      const lines = text.matchAll(/^millrace_workflows_total\{outcome="(\w+)"\} (\d+)$/gm);
      return Object.fromEntries([...lines].map(([, outcome = '', count]) => [outcome, Number(count)]));
    };
    const cancelled = await workflows.create([task('x', 'forever')]);
    await workflows.cancel(cancelled);
    const [before, outcomes] = [(await a.get('/api/v1/stats')).body, await measured()];
    await run([task('x', 'echo')]);
    await run([task('x', 'fail', [], { payload: { permanent: true } })]);
    await run([task('x', 'fail', [], { payload: { permanent: true }, on_failure: 'skip' })]);
    // What the pool ends is seen in the database a moment before it is counted.
    const after = await until(async () => {
      const { body } = await a.get('/api/v1/stats');
      const isCounted =
        body.workflows_completed > before.workflows_completed && body.workflows_failed >= before.workflows_failed + 2;
      return isCounted && body;
    });
    expect(after.workflows_created - before.workflows_created).toBe(3);
    expect(after.workflows_completed - before.workflows_completed).toBe(1);
    expect(after.workflows_failed - before.workflows_failed).toBe(2);
    expect(outcomes.cancelled).toBeGreaterThan(0);
    const { completed = 0, failed = 0, partially_failed: partial = 0 } = outcomes;
    expect(await measured()).toMatchObject({
      completed: completed + 1,
      failed: failed + 1,
      partially_failed: partial + 1,
      cancelled: outcomes.cancelled,
    });
  });

  it('finish a hundred workflows at once, each by its own rules', async () => {
    const fate = (n: number): [string, object] =>
      [
        ['completed', task('b', 'echo', ['a'])] as [string, object],
        ['failed', task('b', 'fail', ['a'], { payload: { permanent: true } })] as [string, object],
        ['partially_failed', task('b', 'unknown', ['a'], { on_failure: 'skip' })] as [string, object],
      ][n % 3]!;
    const ended = await Promise.all(
      Array.from({ length: 100 }, (_, n) => run([task('a', 'echo'), fate(n)[1], task('c', 'echo', ['b'])])),
    );
    for (const [n, { status }] of ended.entries()) expect(status).toBe(fate(n)[0]);
    await expectLegal(database, { ended: true });
  });
});
