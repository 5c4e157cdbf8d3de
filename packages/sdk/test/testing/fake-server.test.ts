import { describe, expect, it } from 'vitest';
import {
  JobCancelled,
  JobFailedError,
  Millrace,
  MismatchError,
  NotFoundError,
  RetryAfterError,
  silentLogger,
  task,
  type,
  WaitTimeoutError,
  workflow,
  type StandardSchema,
} from '../../src/index.js';
import { client, FakeServer, runHandler, runTask } from '../../src/testing/index.js';

const double = task({
  name: 'double',
  input: type<{ n: number }>(),
  output: type<{ n: number }>(),
  retries: { max: 1, delay: '30s' },
});
const other = task({ name: 'other' });

describe('draining', () => {
  it('runs what is due, what that enqueues, and retries once they are due', async () => {
    const fake = new FakeServer();
    const millrace = client(fake);
    let tries = 0;
    const handlers = [
      double.handle(async ({ n }, { enqueue, job }) => {
        await enqueue(other);
        tries++;
        if (job.attempt === 1) throw new Error('again');
        return { n: n * 2 };
      }),
      other.handle(() => undefined),
    ];
    const job = await millrace.enqueue(double, { n: 2 });
    await fake.drain(handlers);
    expect(await job.get()).toMatchObject({ status: 'retrying', errorMessage: 'again' });
    await fake.advance('29s');
    await fake.drain(handlers);
    expect(tries).toBe(1);
    await fake.advance('1s');
    await fake.drain(handlers);
    expect(await job.result()).toEqual({ n: 4 });
    // Both attempts enqueued it: the key is made of the job and the ordinal.
    expect(fake.jobs.filter((each) => each.task === 'other')).toMatchObject([{ status: 'completed', result: {} }]);
  });

  it('cancels jobs that nobody began in time, and no others', async () => {
    const fake = new FakeServer();
    const millrace = client(fake);
    const late = await millrace.enqueue(other, {}, { expires: '60s' });
    const begun = await millrace.enqueue(double, { n: 1 }, { expires: '60s' });
    const handlers = [double.handle(() => Promise.reject(new Error('again')))];
    await fake.drain(handlers);
    await fake.advance('61s');
    expect(await late.get()).toMatchObject({ status: 'cancelled', errorMessage: 'expired before it started' });
    expect(await begun.get()).toMatchObject({ status: 'retrying' });
    const past = { expires: new Date('2020-01-01T00:00:00Z'), runAt: new Date('2020-01-02T00:00:00Z') };
    await expect(millrace.enqueue(other, {}, past)).rejects.toThrow('must be after run_at');
  });

  it('makes one job of a unique key, and debounces it', async () => {
    const fake = new FakeServer();
    const millrace = client(fake);
    const unique = { key: 'k', while: 'unfinished' } as const;
    const first = await millrace.enqueue(double, { n: 1 }, { unique });
    expect((await millrace.enqueue(double, { n: 2 }, { unique })).id).toBe(first.id);
    await fake.drain([double.handle(({ n }) => ({ n }))]);
    expect(await first.result()).toEqual({ n: 1 });
    expect((await millrace.enqueue(double, { n: 2 }, { unique })).id).not.toBe(first.id);
    const debounce = { key: 'd', while: 'waiting', onConflict: 'replace', maxWait: '90s' } as const;
    const put = (n: number) => millrace.enqueue(double, { n }, { unique: debounce, delay: '60s' });
    const job = await put(1);
    await fake.advance('45s');
    expect((await put(2)).id).toBe(job.id);
    await fake.advance('40s');
    expect((await put(3)).id).toBe(job.id);
    expect(await job.get()).toMatchObject({ status: 'pending', payload: { n: 3 } });
    await fake.advance('5s');
    await fake.drain([double.handle(({ n }) => ({ n }))]);
    expect(await job.result()).toEqual({ n: 3 });
    await expect(millrace.enqueue(double, { n: 1 }, { unique: { ...unique, onConflict: 'replace' } })).rejects.toThrow(
      'replace needs while',
    );
  });

  it('leaves jobs alone that have no handler', async () => {
    const fake = new FakeServer();
    await client(fake).enqueue(other);
    await fake.drain([double.handle(({ n }) => ({ n }))]);
    expect(fake.jobs).toMatchObject([{ task: 'other', queue: 'tasks', status: 'pending' }]);
  });

  it('aborts the handler of a job that is cancelled, and keeps nothing of it', async () => {
    const fake = new FakeServer();
    const job = await client(fake).enqueue(double, { n: 1 });
    let reason: unknown;
    const handler = double.handle(async ({ n }, { signal, leased }) => {
      expect(leased()).toBe(true);
      await job.cancel();
      reason = signal.reason;
      expect(leased()).toBe(false);
      return { n };
    });
    await fake.drain([handler]);
    expect(reason).toBeInstanceOf(JobCancelled);
    expect(await job.get()).toMatchObject({ status: 'cancelled', result: null });
  });

  it('heeds when a handler wants to be tried again', async () => {
    const fake = new FakeServer({ now: new Date('2030-01-01T00:00:00Z') });
    const job = await client(fake).enqueue(double, { n: 1 });
    await fake.drain([double.handle(() => Promise.reject(new RetryAfterError('later', '90s')))]);
    expect((await job.get()).nextRetryAt).toEqual(new Date('2030-01-01T00:01:30Z'));
  });

  it('shows progress while it runs', async () => {
    const fake = new FakeServer();
    const job = await client(fake).enqueue(double, { n: 1 });
    const seen: unknown[] = [];
    const watching = (async () => {
      for await (const state of job.watch()) seen.push(state.progress ?? state.status);
    })();
    const handler = double.handle(async ({ n }, { progress }) => {
      progress({ at: 1 });
      await expect.poll(() => seen).toContainEqual({ at: 1 });
      return { n };
    });
    await expect.poll(() => seen).toEqual(['pending']);
    await fake.drain([handler]);
    await watching;
    expect(seen).toEqual(['pending', 'running', { at: 1 }, 'completed']);
  });
});

describe('data', () => {
  it('goes through JSON both ways', async () => {
    const fake = new FakeServer();
    const loose = task({
      name: 'loose',
      input: type<{ a?: unknown }>(),
      output: type<{ at: unknown; gone?: unknown }>(),
    });
    const job = await client(fake).enqueue(loose, { a: undefined });
    let keys: string[] = ['?'];
    const now = new Date(0);
    await fake.drain([
      loose.handle((input) => {
        keys = Object.keys(input);
        return { at: now, gone: undefined };
      }),
    ]);
    expect(keys).toEqual([]);
    expect(await job.result()).toEqual({ at: now.toISOString() });
  });

  it('that does not match its schema fails for good where it runs', async () => {
    const strict: StandardSchema<{ n: number }, { n: number }> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => {
          const { n } = value as { n: unknown };
          return typeof n === 'number' ? { value: { n } } : { issues: [{ message: 'is no number', path: ['n'] }] };
        },
      },
    };
    const checked = task({ name: 'double', input: strict, output: strict });
    const fake = new FakeServer();
    // As another program would, that does not know the schema.
    const job = await client(fake).enqueue(task({ name: 'double', input: type<{ n: string }>() }), { n: '1' });
    await fake.drain([checked.handle(({ n }) => ({ n }))]);
    const error = await job.result().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(JobFailedError);
    expect((error as JobFailedError).job.errorMessage).toBe('the payload is not valid: n: is no number');
    await expect(runTask(checked, () => ({ n: 'x' as never }), { n: 1 })).rejects.toThrow('the result is not valid: n');
    await expect(runTask(double, () => [] as never, { n: 1 })).rejects.toBeInstanceOf(MismatchError);
  });

  it('that threw what is no error says what it was', async () => {
    const fake = new FakeServer();
    const job = await client(fake).enqueue(double, { n: 1 }, { retries: { max: 0 } });
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    await fake.drain([double.handle(() => Promise.reject({ code: 7 }))]);
    expect((await job.get()).errorMessage).toBe('{"code":7}');
  });

  it('that the fake server does not know is refused by name', async () => {
    const fake = new FakeServer();
    const { id } = await client(fake).start(workflow({ name: 'flow' }).step('only', other, {}), {});
    const error = await client(fake)
      .workflows.diagram(id)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NotFoundError);
    expect((error as Error).message).toContain('devServer()');
  });
});

describe('a handler alone', () => {
  it('says what it returned, logged and reported', async () => {
    const handler = double.handle(async ({ n }, { log, progress, job, enqueue, signal }) => {
      log.warn('working', { n });
      progress({ half: true });
      expect((await enqueue(other)).id).toBeTruthy();
      expect(signal.aborted).toBe(false);
      return { n: n * job.attempt };
    });
    expect(await runHandler(handler, { n: 2 }, { attempt: 3 })).toEqual({
      result: { n: 6 },
      progress: [{ half: true }],
      logs: ['warn: working {"n":2}'],
    });
  });

  it('rejects with what it throws, and sees the signal of the test', async () => {
    const signal = AbortSignal.abort(new JobCancelled('no'));
    const run = runTask(double, (_input, ctx) => Promise.reject(ctx.signal.reason as Error), { n: 1 }, { signal });
    await expect(run).rejects.toBeInstanceOf(JobCancelled);
  });
});

describe('the clock', () => {
  it('ends waits for results, whatever the clock on the wall says', async () => {
    const fake = new FakeServer();
    const job = await client(fake).enqueue(double, { n: 1 });
    let isOver = false;
    const waited = job.result({ timeout: '90s' }).catch((error: unknown) => {
      isOver = true;
      return error;
    });
    await fake.advance('89s');
    expect(isOver).toBe(false);
    await fake.advance('1s');
    expect(await waited).toBeInstanceOf(WaitTimeoutError);
    await fake.drain([double.handle(({ n }) => ({ n }))]);
    expect(await job.result()).toEqual({ n: 1 });
  });

  it('runs programs that put their schedules when they start, in the time zones that they name', async () => {
    const fake = new FakeServer({ now: new Date('2030-03-30T12:00:00Z') });
    const millrace = client(fake);
    const daily = workflow({ name: 'report' }).step('only', other, {});
    const atStart = async () => {
      const timezone = 'Europe/Berlin';
      await millrace.schedules.put({ name: 'sweep', cron: '30 2 * * *', timezone, task: other });
      await millrace.schedules.put({ name: 'report', cron: '0 9 * * *', timezone, workflow: daily, input: {} });
    };
    await atStart();
    await atStart();
    expect(await millrace.schedules.list().toArray()).toHaveLength(2);
    // The clocks go forward in the night: half past two does not exist, and nine o'clock comes an hour sooner.
    await fake.advance('24h');
    const fired = async (name: string) =>
      (await millrace.schedules.firings(name).toArray()).map(({ occurrence }) => occurrence.toISOString().slice(0, 16));
    expect(await fired('sweep')).toEqual(['2030-03-31T01:00']);
    expect(await fired('report')).toEqual(['2030-03-31T07:00']);
    await fake.drain([other.handle(() => undefined)]);
    expect((await millrace.workflows.list().toArray()).map(({ status }) => status)).toEqual(['completed']);
  });

  it('keeps what is paused from running', async () => {
    const fake = new FakeServer();
    const millrace = client(fake);
    const job = await millrace.enqueue(other);
    await millrace.queues.pause('tasks');
    await fake.drain([other.handle(() => undefined)]);
    expect(await millrace.jobs.why(job.id)).toMatchObject({ reason: 'queue_paused' });
    await millrace.queues.resume('tasks');
    await fake.drain([other.handle(() => undefined)]);
    expect(await job.get()).toMatchObject({ status: 'completed' });
  });

  it('fires every occurrence on the way, at its instant', async () => {
    const fake = new FakeServer({ now: new Date('2030-01-01T00:00:30Z') });
    const millrace = new Millrace({ ...fake.options, logger: silentLogger });
    await millrace.schedules.put({ name: 'tick', cron: '*/20 * * * *', task: other });
    await fake.advance('1h');
    const jobs = await millrace.jobs.list({ oldestFirst: true }).toArray();
    expect(jobs.map((job) => job.createdAt.toISOString().slice(11, 16))).toEqual(['00:20', '00:40', '01:00']);
    expect(fake.now).toEqual(new Date('2030-01-01T01:00:30Z'));
  });
});
