import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { task, type, workflow } from '../../src/index.js';
import { until } from '../support/worker-kit.js';
import { fakeStage, lease, onceAnHour, realStage, workOff, type Stage } from '../support/stages.js';

let names = 0;

/** Steps that decide and wait, logs and schedules: the fake server does what the real one does. */
describe.each([
  ['the fake server', fakeStage],
  ['the real server', realStage],
] as const)('what is new on %s', (_name, start) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await start();
  });
  afterAll(() => stage.stop());

  const work = (queue: string) => ({
    charge: task({ name: 'charge', queue, input: type<{ currency: string }>(), output: type<{ currency: string }>() }),
    note: task({ name: 'note', queue }),
  });

  it.each([
    ['EUR', ['completed', 'completed', 'completed', 'completed'], [null, null, null, null]],
    ['USD', ['completed', 'skipped', 'skipped', 'completed'], [null, 'condition', 'condition', null]],
  ])('steps run if their condition holds: %s', async (currency, statuses, reasons) => {
    const queue = `rules ${++names}`;
    const { charge, note } = work(queue);
    const flow = workflow({ name: 'order', input: type<{ currency: string }>() })
      .step('charge', charge, { payload: ({ input }) => ({ currency: input.currency }) })
      .step('local', note, {
        after: ['charge'],
        when: ({ steps }) => ({ ref: steps.charge.currency, in: ['EUR', 'CHF'] }),
      })
      .step('behind', note, { after: ['local'] })
      .step('anyway', note, { after: ['charge'], when: () => ({ ref: { path: ['input', 'x'] }, is: null }) });
    const run = await stage.millrace.start(flow, { currency });
    await workOff(stage, queue, [charge.handle((input) => input), note.handle(() => ({}))]);
    await until(async () => (await run.status()) === 'completed');
    const steps = await run.steps();
    expect(steps.map(({ status }) => status)).toEqual(statuses);
    expect(steps.map(({ skippedBy }) => skippedBy)).toEqual(reasons);
  });

  it('steps wait for signals, which may come first', async () => {
    const queue = `rules ${++names}`;
    const { note } = work(queue);
    const flow = workflow({ name: 'order' })
      .wait('approved', { timeout: '3d', ask: { text: 'Ship it?' }, output: type<{ by: string }>() })
      .wait('paid', { after: ['approved'], timeout: '1h' })
      .wait('late', { after: ['paid'], timeout: '1h', onTimeout: 'continue' })
      .step('ship', note, { after: ['late'], payload: ({ steps }) => ({ by: steps.approved.by }) });
    const run = await stage.millrace.start(flow, {});
    expect((await run.steps()).map(({ status }) => status)).toEqual(['running', 'pending', 'pending', 'pending']);
    const waits = (await stage.millrace.signals.waits({ ask: true }).page()).items;
    expect(waits.find(({ workflowId }) => workflowId === run.id)).toMatchObject({
      ...{ name: 'approved', key: run.id, workflowStep: 'approved', ask: { text: 'Ship it?' } },
    });
    expect(await run.signal('paid', 7)).toEqual({ delivered: false });
    expect(await run.signal('approved', { by: 'mia' })).toEqual({ delivered: true });
    await until(async () => (await run.steps())[1]!.status === 'completed');
    await stage.advance('61m');
    await until(async () => (await run.steps())[3]!.jobId !== null);
    const [shipped] = await lease(stage, queue);
    expect(shipped!.job.payload).toMatchObject({ by: { $step: 'approved', path: ['by'] } });
    expect(shipped!.job.payload._context).toMatchObject({
      ...{ approved: { by: 'mia' }, paid: { value: 7 }, late: { timed_out: true } },
    });
    await stage.work(`/jobs/${shipped!.job.id}/complete`, { lease_token: shipped!.lease_token });
    await until(async () => (await run.status()) === 'completed');
    await expect(run.signal('more')).rejects.toMatchObject({ code: 'already_finished' });
  });

  it('a step that waits in vain fails', async () => {
    const run = await stage.millrace.start(workflow({ name: 'order' }).wait('never', { timeout: '1h' }), {});
    await stage.advance('61m');
    await until(async () => (await run.status()) === 'failed');
    expect((await run.steps())[0]!.errorMessage).toBe('no signal "never" came within 3600 s');
  });

  it('lists of steps come together', async () => {
    const queue = `rules ${++names}`;
    const double = task({ name: 'double', queue, input: type<{ n: number }>(), output: type<{ n: number }>() });
    const sum = task({ name: 'sum', queue, input: type<{ all: { n: number }[] }>(), output: type<{ n: number }>() });
    const flow = workflow({ name: 'fan' })
      .map('double', [1, 2, 3], double, { payload: (_, n) => ({ n }) })
      .step('sum', sum, { after: ['double'], payload: ({ steps }) => ({ all: steps.double }) });
    const run = await stage.millrace.start(flow, {});
    await workOff(stage, queue, [
      double.handle(({ n }) => ({ n: 2 * n })),
      sum.handle(({ all }) => ({ n: all.reduce((total, { n }) => total + n, 0) })),
    ]);
    await until(async () => (await run.status()) === 'completed');
    expect(await run.result()).toEqual({ double: [{ n: 2 }, { n: 4 }, { n: 6 }], sum: { n: 12 } });
  });

  it('lines of handlers are kept with their attempt, and so is the class of an error', async () => {
    const queue = `rules ${++names}`;
    const job = await stage.millrace.enqueue(work(queue).note, {}, { retries: { max: 0 } });
    const [leased] = await lease(stage, queue, { slots: 5, tasks: ['note'] });
    const lease_token = leased!.lease_token;
    const line = { at: '2026-01-31T09:00:00.123Z', level: 'info', message: 'one' };
    await stage.work(`/jobs/${job.id}/heartbeat`, {
      lease_token,
      extend_secs: 3_600,
      logs: [{ ...line, fields: { a: 1 } }],
    });
    const details = { name: 'TypeError', stack: 'TypeError: no' };
    await stage.work(`/jobs/${job.id}/fail`, {
      lease_token,
      error: 'no',
      details,
      logs: [{ ...line, message: 'two' }],
    });
    const { lines, next } = await stage.millrace.jobs.logs(job.id);
    expect(lines.map(({ attempt, seq, message, fields }) => [attempt, seq, message, fields])).toEqual([
      [1, 1, 'one', { a: 1 }],
      [1, 2, 'two', {}],
    ]);
    expect(next).toBeNull();
    expect((await job.get()).error).toEqual({ name: 'TypeError', message: 'no', stack: 'TypeError: no' });
    const [attempt] = (await stage.millrace.jobs.attempts(job.id)).attempts;
    expect(attempt).toMatchObject({ number: 1, outcome: 'failed', errorMessage: 'no' });
  });

  it('jobs of a key start at its rate', async () => {
    const queue = `rules ${++names}`;
    const limited = task({ name: 'limited', queue, limits: [{ key: 'stripe', rate: '1/30m' }] });
    await stage.millrace.enqueueMany([limited.with(), limited.with()]);
    await until(async () => (await lease(stage, queue)).length === 1);
    expect(await lease(stage, queue)).toEqual([]);
    // The next token counts from when the claim of the first was seen, which may be after the clock was moved.
    await until(
      async () => {
        await stage.advance('31m');
        return (await lease(stage, queue, { max_jobs: 1, wait_secs: 1 })).length === 1;
      },
      { what: 'the second' },
    );
  });

  it('copies of jobs begin with what was kept', async () => {
    const queue = `rules ${++names}`;
    const job = await stage.millrace.enqueue(work(queue).note, {}, { retries: { max: 0 } });
    const [leased] = await lease(stage, queue);
    const lease_token = leased!.lease_token;
    for (const name of ['a', 'b'])
      await stage.work(`/jobs/${job.id}/checkpoints`, { lease_token, name, value: { of: name } });
    await stage.work(`/jobs/${job.id}/fail`, { lease_token, error: 'no' });
    const again = await stage.millrace.jobs.rerun(job.id, { keepCheckpoints: ['b', 'c'] });
    expect(await stage.millrace.jobs.checkpoints(again.id)).toMatchObject([
      { name: 'b', value: { of: 'b' }, attempt: 0 },
    ]);
    expect((await again.get()).metadata).toMatchObject({ rerun_of: job.id, kept_checkpoints: true });
  });

  it('schedules start workflows, and skip occurrences while the last is under way', async () => {
    const queue = `rules ${++names}`;
    const { note } = work(queue);
    const flow = workflow({ name: 'nightly' }).step('one', note, {});
    const name = `nightly ${names}`;
    const cron = await onceAnHour(stage);
    await stage.millrace.schedules.put({ name, cron, workflow: flow, overlap: 'skip' });
    const run = await stage.millrace.schedules.trigger(name, { workflow: flow });
    expect((await run.get()).metadata).toMatchObject({ cron_name: name });
    await stage.advance('1h');
    const kinds = await until(async () => {
      const { items } = await stage.millrace.schedules.firings(name).page();
      return items.length === 2 && items.map(({ kind, workflowId }) => [kind, workflowId]);
    });
    expect(kinds).toEqual([
      ['skipped', null],
      ['triggered', run.id],
    ]);
    await expect(stage.millrace.schedules.trigger(name)).rejects.toThrow('starts the workflow "nightly"');
    await stage.millrace.schedules.delete(name);
  });
});
