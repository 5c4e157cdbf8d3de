import {
  JobCancelled,
  JobTimeout,
  Millrace,
  NonRetryableError,
  RetryAfterError,
  silentLogger,
  task,
} from '@millrace/sdk';
import { jsonText } from '@millrace/sdk/worker';
import { describe, expect, it } from 'vitest';
import {
  aborted,
  beating,
  freshTask,
  gate,
  KEY_B,
  pathOf,
  recordingLogger,
  until,
  useWorkerKit,
} from '../support/worker-kit.js';

describe('jobs of a worker', async () => {
  const { server, millrace, start } = await useWorkerKit();

  it('run, and their results arrive', async () => {
    const add = freshTask('add');
    const { events } = start([add.handle(({ a, b }) => ({ sum: a + b }))]);
    const job = await millrace.enqueue(add, { a: 1, b: 2 });
    expect(await job.result()).toEqual({ sum: 3 });
    await until(() => events.length === 3 || `${events.length} events`);
    expect(events).toMatchObject([
      { type: 'polling' },
      { type: 'started', job: { id: job.id, attempt: 1, workflow: null } },
      { type: 'completed', job: { id: job.id }, ms: expect.any(Number) },
    ]);
  });

  it('are reported together when they end together', async () => {
    const many = freshTask('many');
    const held = gate();
    const { calls, events } = start([many.handle(() => held.opened)]);
    const jobs = await millrace.enqueueMany([1, 2, 3, 4].map(() => many.with()));
    await until(() => events.filter(({ type }) => type === 'started').length === 4 || 'not all started');
    held.open();
    await millrace.waitAll(jobs);
    expect(calls.filter((path) => path === '/reports')).toHaveLength(1);
    expect(calls.filter((path) => path.endsWith('/complete'))).toEqual([]);
  });

  it('run against a server that knows only the plain protocol', async () => {
    const old = freshTask('old');
    const plain: typeof fetch = (input, init) =>
      /\/(whoami|reports|heartbeats|release)$/.test(input as string)
        ? Promise.resolve(new Response('{"error":"no route","code":"not_found"}', { status: 404 }))
        : fetch(input, init);
    const held = gate();
    const { handler, beat } = beating(old, () => held.opened);
    const { calls, events } = start([handler], { fetch: plain });
    const beats = (): number => calls.filter((path) => path.endsWith('/heartbeat')).length;
    const job = await millrace.enqueue(old);
    await until(() => events.some(({ type }) => type === 'started'));
    for (const count of [1, 2]) {
      beat();
      await until(() => beats() >= count || 'no plain heartbeats');
    }
    held.open();
    expect(await job.result()).toEqual({});
    expect(calls.filter((path) => path.endsWith('/complete'))).toHaveLength(1);
    expect(calls.filter((path) => path === '/heartbeats').length).toBeLessThan(2);
  });

  it('fail for good with a NonRetryableError, and keep its name and stack', async () => {
    const doomed = freshTask('doomed');
    start([
      doomed.handle(() => {
        throw new NonRetryableError('no such user');
      }),
    ]);
    const job = await millrace.enqueue(doomed);
    await expect(job.result()).rejects.toMatchObject({ job: { status: 'failed', errorMessage: 'no such user' } });
    const { attempts } = (await server.a.get(`/api/v1/jobs/${job.id}/attempts`)).body;
    expect(attempts[0]).toMatchObject({ error_details: { name: 'NonRetryableError' } });
    expect(attempts[0].error_details.stack).toContain('jobs.test.ts');
  });

  it('are tried again when a RetryAfterError says', async () => {
    const busy = freshTask('busy');
    start([
      busy.handle(() => {
        throw new RetryAfterError('slow down', '90s');
      }),
    ]);
    const job = await millrace.enqueue(busy);
    const record = await until(async () => {
      const found = await job.get();
      return found.status === 'retrying' ? found : found.status;
    });
    expect(record.errorMessage).toBe('slow down');
    const waitMs = record.scheduledAt.getTime() - record.startedAt!.getTime();
    expect(waitMs).toBeGreaterThanOrEqual(90_000);
    // Not by the policy of the task, an hour later.
    expect(waitMs).toBeLessThan(3_000_000);
  });

  it('fail for good if the result does not fit into JSON', async () => {
    const odd = freshTask('odd');
    start([odd.handle(() => ({ n: 1n }) as any)]);
    const job = await millrace.enqueue(odd);
    await expect(job.result()).rejects.toMatchObject({
      job: { errorMessage: expect.stringContaining('the result cannot be written as JSON') },
    });
  });

  it('may return JSON text that JavaScript could not hold', async () => {
    const echo = freshTask('echo');
    start([echo.handle((_, { job }) => jsonText(job.payloadText))]);
    const payload = '{"big": 9007199254740993, "price":1.10}';
    const { body } = await server.a.post(
      '/api/v1/jobs',
      `{"task_name":"echo","payload":${payload},"config":{"queue":"${echo.queue}"}}`,
    );
    await millrace.jobs.handle(echo, body.job_id).result();
    expect((await server.a.get(`/api/v1/jobs/${body.job_id}`)).text).toContain(`"result":${payload}`);
  });

  it('end when their time is up, and are tried again', async () => {
    const slow = freshTask('slow', { timeout: '1s' });
    let reason: unknown;
    start([
      slow.handle(async (_, { signal }) => {
        reason = await aborted(signal);
      }),
    ]);
    const job = await millrace.enqueue(slow);
    const { errorMessage } = await until(async () => {
      const found = await job.get();
      return found.status === 'retrying' ? found : found.status;
    });
    expect(errorMessage).toBe('timed out after 1 s');
    expect(reason).toBeInstanceOf(JobTimeout);
  });

  it('stop when they are cancelled, and are not reported', async () => {
    const long = freshTask('long');
    let reason: unknown;
    const { handler, beat } = beating(long, async ({ signal }) => {
      reason = await aborted(signal);
    });
    const { events, calls } = start([handler]);
    const job = await millrace.enqueue(long);
    await until(() => events.some(({ type }) => type === 'started'));
    await job.cancel();
    beat();
    await until(() => events.some(({ type }) => type === 'cancelled') || 'not told');
    expect(reason).toBeInstanceOf(JobCancelled);
    expect(calls.filter((path) => path === '/reports')).toEqual([]);
  });

  it('know whether their lease is held', async () => {
    const careful = freshTask('careful');
    const answers: boolean[] = [];
    const { handler, beat } = beating(careful, async ({ leased, signal }) => {
      answers.push(leased());
      await aborted(signal);
      answers.push(leased());
    });
    const { events } = start([handler]);
    const job = await millrace.enqueue(careful);
    await until(() => answers.length === 1);
    await job.cancel();
    beat();
    await until(() => events.some(({ type }) => type === 'cancelled'));
    await until(() => answers.length === 2);
    expect(answers).toEqual([true, false]);
  });

  it('tell their progress, and the next attempt what the last one said', async () => {
    const upload = freshTask('upload', { retries: { delay: '0s', jitter: 0 } });
    const seen = gate();
    const last: unknown[] = [];
    start([
      upload.handle(async (_, { progress, lastProgress, job }) => {
        last.push(lastProgress);
        if (job.attempt > 1) return;
        progress({ done: 7 });
        await seen.opened;
        throw new Error('broken pipe');
      }),
    ]);
    const job = await millrace.enqueue(upload);
    await until(async () => (await job.get()).progress?.done === 7 || 'no progress');
    seen.open();
    await job.result();
    expect(last).toEqual([null, { done: 7 }]);
  });

  it('see the results of earlier steps in place of references', async () => {
    // Steps run on the server's default queue.
    const ship = task({ name: 'ship', queue: 'default' });
    start([ship.handle((input) => ({ seen: input }))]);
    const { body } = await server.a.post('/api/v1/workflows', {
      name: 'order',
      context: { reserve: { shelf: 7 } },
      steps: [{ name: 'ship', task_name: 'ship', payload: REFERENCES }],
    });
    const seen = await until(async () => {
      const steps = (await server.a.get(`/api/v1/workflows/${body.workflow_id}/steps`)).body.steps;
      const { status, result } = (await server.a.get(`/api/v1/jobs/${steps[0].job_id}`)).body;
      return status === 'completed' ? result.seen : String(status);
    });
    expect(seen).toEqual({ shelf: 7, plain: true });
  });

  it('keep what looks like a reference outside of workflows', async () => {
    const plain = freshTask('plain');
    start([plain.handle((input) => ({ seen: input }))]);
    const { seen } = await (await millrace.enqueue(plain, REFERENCES)).result();
    expect(seen).toEqual(REFERENCES);
  });

  it('create jobs of their own once, however often they are tried', async () => {
    const child = freshTask('child');
    const parent = freshTask('parent', { retries: { delay: '0s', jitter: 0 } });
    const children: string[] = [];
    start(
      [
        parent.handle(async (_, { enqueue, job }) => {
          children.push((await enqueue(child, { n: 1 })).id, (await enqueue(child, { n: 2 })).id);
          if (job.attempt === 1) throw new Error('after the fact');
        }),
      ],
      { client: millrace },
    );
    await (await millrace.enqueue(parent)).result();
    expect(children).toHaveLength(4);
    expect(children.slice(2)).toEqual(children.slice(0, 2));
    expect(new Set(children).size).toBe(2);
  });

  it('create them as children, without a client too', async () => {
    const [child, parent] = [freshTask('child'), freshTask('parent')];
    const refusals: string[] = [];
    start([
      parent.handle(async (_input, { enqueue }) => {
        const made = await enqueue(child, { n: 1 }, { metadata: { a: 1 } });
        await made.get().catch((error: Error) => refusals.push(error.message));
        return { id: made.id };
      }),
    ]);
    const job = await millrace.enqueue(parent);
    const { id } = await job.result();
    expect(await millrace.jobs.get(id)).toMatchObject({ parentJobId: job.id, payload: { n: 1 }, metadata: { a: 1 } });
    expect(refusals).toEqual([expect.stringContaining('needs a client')]);
  });

  it('go through the client where the worker may not create them', async () => {
    const [child, parent] = [freshTask('child'), freshTask('parent')];
    const forbidden: typeof globalThis.fetch = (input, init) =>
      pathOf(input).endsWith('/children')
        ? Promise.resolve(Response.json({ error: 'limited', code: 'forbidden', timestamp: '' }, { status: 403 }))
        : globalThis.fetch(input, init);
    const handler = parent.handle(async (_input, { enqueue }) => ({ id: (await enqueue(child)).id }));
    start([handler], { client: millrace, fetch: forbidden });
    const job = await millrace.enqueue(parent);
    const { id } = await job.result();
    expect(await millrace.jobs.get(id)).toMatchObject({ parentJobId: null, key: `${job.id}:1` });
  });

  it.each([
    ['without a client', {}, 'needs a client'],
    ['with the client of another tenant', { client: new Millrace({ url: server.url, token: KEY_B }) }, 'belongs to'],
  ])('create none with a key %s', async (_title, options, message) => {
    const child = freshTask('child');
    const parent = freshTask('parent');
    start([parent.handle(async (_input, { enqueue }) => void (await enqueue(child, {}, { key: 'k' })))], options);
    const job = await millrace.enqueue(parent, {}, { retries: { max: 0 } });
    await expect(job.result()).rejects.toMatchObject({
      job: { errorMessage: expect.stringContaining(message) },
    });
    expect((await millrace.jobs.list({ queue: child.queue }).page()).items).toEqual([]);
  });

  it('go back to the queue, with a pause and without a retry, if there is no handler', async () => {
    const known = freshTask('known');
    const { logger, lines } = recordingLogger();
    start([known.handle(() => undefined)], { logger });
    const { body } = await server.a.post('/api/v1/jobs', {
      task_name: 'unheard-of',
      config: { queue: known.queue, max_retries: 0 },
    });
    const job = millrace.jobs.handle(known, body.job_id);
    const found = await until(async () => {
      const record = await job.get();
      // It comes again when its pause is over, which may be before this look.
      return record.status === 'pending' && record.deliveryCount > 0 ? record : record.status;
    });
    expect(found).toMatchObject({ retryCount: 0, errorMessage: null });
    expect(found.scheduledAt.getTime() - found.createdAt.getTime()).toBeGreaterThanOrEqual(5_000);
    expect(lines).toContainEqual({
      level: 'warn',
      message: `there is no handler for the task unheard-of here; its jobs go back to the queue ${known.queue}, with a pause`,
    });
  });

  it('that fail are logged: a warning while there are retries, an error after the last', async () => {
    const flaky = freshTask('flaky', { retries: { max: 1, delay: '1h' } });
    const { logger, lines } = recordingLogger();
    start([flaky.handle(() => Promise.reject(new Error('out of paper\nand ink')))], { logger });
    const job = await millrace.enqueue(flaky);
    await until(async () => (await job.get()).status === 'retrying' || 'not tried yet');
    await millrace.jobs.runNow(job.id);
    await expect(job.result()).rejects.toThrow('out of paper');
    const failures = await until(() => {
      const found = lines.filter(({ message }) => message.startsWith('flaky failed'));
      return found.length === 2 ? found : `${found.length} lines`;
    });
    expect(failures).toEqual([
      {
        level: 'warn',
        message: `flaky failed: attempt 1 of 2 of the job ${job.id}, next try in about 3600 s: out of paper`,
      },
      { level: 'error', message: `flaky failed: attempt 2 of 2 of the job ${job.id}, its last: out of paper` },
    ]);
  });

  it('say what was thrown, although it is no error', async () => {
    const odd = freshTask('odd');
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    start([odd.handle(() => Promise.reject({ code: 7 }))]);
    const job = await millrace.enqueue(odd, {}, { retries: { max: 0 } });
    await expect(job.result()).rejects.toMatchObject({ job: { errorMessage: '{"code":7}' } });
  });

  it('fail for good with a result that has no fields, such as a Map', async () => {
    const map = freshTask('map');
    start([map.handle(() => new Map([['a', 1]]) as any)]);
    const job = await millrace.enqueue(map);
    await expect(job.result()).rejects.toMatchObject({
      job: { errorMessage: 'a handler returns an object or nothing, not a Map' },
    });
  });

  it('go on although a listener throws', async () => {
    const calm = freshTask('calm');
    const onEvent = (): void => {
      throw new Error('from a listener');
    };
    start([calm.handle(() => ({ fine: true }))], { onEvent, logger: silentLogger });
    expect(await (await millrace.enqueue(calm)).result()).toEqual({ fine: true });
  });
});

const REFERENCES = {
  shelf: { $step: 'reserve', path: ['shelf'] },
  gone: { $step: 'reserve', path: ['nowhere'] },
  plain: true,
};
