import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Millrace, NonRetryableError, silentLogger, task, workflow } from '../../src/index.js';
import { realStage, workOff, type Stage } from '../support/stages.js';
import { scriptedFetch } from '../support/scripted-fetch.js';

/** What only the real service knows. */
describe('what is known about jobs', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await realStage();
  });
  afterAll(() => stage.stop());

  const flaky = task({ name: 'flaky', queue: 'insight', retries: { max: 2, delay: '0s' } });

  it('has attempts and reasons', async () => {
    const job = await stage.millrace.enqueue(flaky);
    expect(await stage.millrace.jobs.why(job.id)).toMatchObject({ reason: expect.any(String) as string, until: null });
    let tries = 0;
    const handler = flaky.handle(() => {
      if (++tries === 1) throw new Error('first');
    });
    await workOff(stage, 'insight', [handler]);
    const { firstDueAt, attempts, omitted } = await stage.millrace.jobs.attempts(job.id);
    expect(omitted).toBe(0);
    expect(firstDueAt).toEqual((await job.get()).createdAt);
    expect(attempts.map(({ number, outcome, errorMessage }) => [number, outcome, errorMessage])).toEqual([
      [1, 'failed', 'first'],
      [2, 'completed', null],
    ]);
    expect(attempts[0]!.startedAt).toBeInstanceOf(Date);
    expect(await stage.millrace.jobs.why(job.id)).toMatchObject({ reason: 'ended' });
    const late = await stage.millrace.enqueue(flaky, {}, { delay: '1h' });
    const why = await stage.millrace.jobs.why(late.id);
    expect(why.reason).toBe('due_later');
    expect(why.until).toBeInstanceOf(Date);
  });

  it('names every queue, however many there are', async () => {
    for (const part of ['x', 'y']) {
      const tasks = Array.from({ length: 600 }, (_, n) => task({ name: 't', queue: `many-${part}-${n}` }).with());
      await stage.millrace.enqueueMany(tasks);
    }
    const names = new Set<string>();
    for await (const { name } of stage.millrace.queues.list()) if (name.startsWith('many-')) names.add(name);
    expect(names.size).toBe(1200);
    const { items, nextCursor } = await stage.millrace.queues.list().page();
    expect([items.length, typeof nextCursor]).toEqual([1000, 'string']);
  });

  it('groups dead letters', async () => {
    const doomed = task({ name: 'doomed', queue: 'doomed' });
    await stage.millrace.enqueueMany([doomed.with(), doomed.with()]);
    let n = 0;
    await workOff(stage, 'doomed', [doomed.handle(() => Promise.reject(new NonRetryableError(`no user ${++n}`)))]);
    const [group] = await stage.millrace.deadLetters.groups({ task: doomed }).toArray();
    expect(group).toMatchObject({ task: 'doomed', reason: 'non_retryable', count: 2 });
    expect(group!.lastAt).toBeInstanceOf(Date);
    const { fingerprint } = group!;
    expect(await stage.millrace.deadLetters.list({ fingerprint, replayed: false }).toArray()).toHaveLength(2);
    expect(await stage.millrace.deadLetters.list({ queue: 'doomed', replayed: true }).toArray()).toEqual([]);
  });

  it('knows workflows, tasks and who is asking', async () => {
    const flow = workflow({ name: 'drawn' })
      .step('one', flaky, {})
      .step('two', flaky, { after: ['one'] });
    const run = await stage.millrace.start(flow, {});
    expect(await stage.millrace.workflows.diagram(run.id)).toContain('-->');
    expect((await stage.millrace.workflows.list({ name: 'drawn' }).toArray()).map(({ id }) => id)).toEqual([run.id]);
    expect((await stage.millrace.workflows.steps(run.id)).map(({ name }) => name)).toEqual(['one', 'two']);
    expect((await stage.millrace.workflows.handle(flow, run.id).get()).name).toBe('drawn');
    expect(await stage.millrace.whoami()).toMatchObject({ kind: 'tenant', readOnly: false });
    expect(await stage.millrace.serverTasks()).toContain('echo');
    await run.cancel();
  });
});

describe('bulk work', () => {
  const operation = {
    id: 'op',
    action: 'cancel_jobs',
    filter: {},
    status: 'running',
    matched: { n: 3, exact: true },
    done: 0,
    changed: 0,
    skipped: 0,
    outcome: { completed: 0, failed: 0, unfinished: 0 },
    created_at: '2026-01-31T09:00:00Z',
    completed_at: null,
  };
  const sample = [{ id: 'a', task_name: 't', queue_name: 'q', created_at: '2026-01-31T09:00:00Z' }];

  it('is asked for with the filters of the lists, and with a key', async () => {
    const { fetch, calls } = scriptedFetch({
      'POST /operations': [{ status: 202, body: { operation_id: 'op' } }],
      'GET /operations/op': [{ status: 200, body: operation }],
    });
    const millrace = new Millrace({ fetch, logger: silentLogger });
    const started = await millrace.operations.cancelJobs({ filter: { status: ['pending', 'retrying'], queue: 'q' } });
    expect(started).toMatchObject({ id: 'op', status: 'running', completedAt: null });
    await millrace.operations.replayDeadLetters({ ids: [1, 2] }, { key: 'mine' });
    const [cancel, replay] = calls.filter((call) => call.method === 'POST');
    expect(cancel!.body).toEqual({ action: 'cancel_jobs', filter: { status: 'pending,retrying', queue: 'q' } });
    expect(cancel!.headers.get('idempotency-key')).toBeTruthy();
    expect(replay!.body).toEqual({ action: 'replay_dead_letters', ids: ['1', '2'] });
    expect(replay!.headers.get('idempotency-key')).toBe('mine');
  });

  it('can be tried dry', async () => {
    const { fetch, calls } = scriptedFetch({
      'POST /operations': [{ status: 200, body: { matched: { n: 1, exact: true }, sample } }],
    });
    const millrace = new Millrace({ fetch, logger: silentLogger });
    const found = await millrace.operations.previewReplayDeadLetters({ filter: { task: 't', replayed: false } });
    expect(found).toMatchObject({
      matched: { n: 1 },
      sample: [{ id: 'a', task: 't', createdAt: expect.any(Date) as Date }],
    });
    expect(calls[0]!.body).toEqual({
      action: 'replay_dead_letters',
      filter: { task_name: 't', replayed: false },
      dry_run: true,
    });
  });
});
