import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  InvalidRequestError,
  JobFailedError,
  Millrace,
  NonRetryableError,
  RetryAfterError,
  silentLogger,
  task,
  type,
  UnavailableError,
  workflow,
  type StandardSchema,
} from '@millrace/sdk';
import { FakeServer, runTask } from '@millrace/sdk/testing';
import { Worker } from '@millrace/sdk/worker';

/** The samples of the documentation, compiled with their types held exactly, and run. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Equal<A, B>): void => undefined;

// A validator whose input and output differ, as every Standard Schema library makes them: `locale` has a default.
const welcomeInput: StandardSchema<{ userId: number; locale?: string }, { userId: number; locale: string }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const { userId, locale = 'en' } = value as { userId: unknown; locale?: string };
      if (typeof userId !== 'number') return { issues: [{ message: 'must be a number', path: ['userId'] }] };
      return { value: { userId, locale } };
    },
  },
};

// 1. define
const sendWelcome = task({
  name: 'send_welcome',
  queue: 'emails',
  input: welcomeInput,
  output: type<{ messageId: string }>(),
  retries: { max: 5, delay: '10s' },
});
const resize = task({
  name: 'resize',
  queue: 'images',
  input: type<{ image: number; width?: number }>(),
  output: type<{ bytes: number }>(),
});
const sweep = task({ name: 'sweep' });

// 8. workflow
const reserve = task({
  name: 'reserve_stock',
  queue: 'orders',
  input: type<{ sku: string }>(),
  output: type<{ shelf: number; at: { hall: string } }>(),
});
const charge = task({
  name: 'charge_card',
  queue: 'orders',
  input: type<{ cents: number }>(),
  output: type<{ receipt: string; tip?: number }>(),
});
const ship = task({
  name: 'ship_parcel',
  queue: 'orders',
  input: type<{ shelf: number; hall: string; receipt: string }>(),
  output: type<{ parcel: string }>(),
});
const mail = task({
  name: 'send_mail',
  queue: 'emails',
  input: type<{ parcel: string; hall: string; ad?: string | undefined }>(),
  output: type<{ id: string }>(),
});
const advert = task({ name: 'pick_advert', queue: 'emails', output: type<{ text: string }>(), retries: { max: 0 } });

const order = workflow({ name: 'order', input: type<{ sku: string; cents: number }>() })
  .step('reserve', reserve, { payload: ({ input }) => ({ sku: input.sku.toUpperCase() }) })
  .step('charge', charge, { retries: { max: 5 }, payload: ({ input }) => ({ cents: input.cents }) })
  .step('advert', advert, { onFailure: 'continue' })
  .step('ship', ship, {
    after: ['reserve', 'charge'],
    payload: ({ steps }) => ({
      shelf: steps.reserve.shelf,
      hall: steps.reserve.at.hall,
      receipt: steps.charge.receipt,
    }),
  })
  .step('mail', mail, {
    after: ['ship', 'advert'],
    onFailure: 'skip',
    // 'reserve' is upstream of 'ship', so it may be read here as well.
    payload: ({ steps }) => ({ parcel: steps.ship.parcel, ad: steps.advert.text, hall: steps.reserve.at.hall }),
  });

const seen: unknown[] = [];
const handlers = [
  sendWelcome.handle(async ({ userId, locale }, { job: current, signal, log, progress }) => {
    same<typeof locale, string>(true); // the default was applied
    const answer = await fetch(`https://mail.example/${locale}/${userId}`, {
      method: 'POST',
      signal,
      headers: { 'Idempotency-Key': current.id },
    });
    if (answer.status === 404) throw new NonRetryableError('no such user');
    if (answer.status === 429) throw new RetryAfterError('slow down', '90s');
    progress({ sent: true });
    log.info('sent', { attempt: current.attempt });
    return { messageId: answer.headers.get('x-id') ?? '' };
  }),
  resize.handle(async ({ image }, { enqueue }) => {
    await enqueue(sweep);
    return { bytes: image };
  }),
  sweep.handle(() => undefined),
  reserve.handle(({ sku }) => ({ shelf: 7, at: { hall: sku } })),
  charge.handle(({ cents }) => ({ receipt: `r-${cents}` })),
  ship.handle(({ shelf, hall, receipt }) => ({ parcel: [shelf, hall, receipt].join('/') })),
  mail.handle((input) => {
    seen.push(input);
    return { id: 'm-1' };
  }),
  advert.handle(() => Promise.reject(new Error('none left'))),
];

describe('the samples', () => {
  let fake: FakeServer;
  let millrace: Millrace;
  let worker: Worker;
  let running: ReturnType<Worker['run']>;
  let unhandled: number;

  beforeEach(() => {
    seen.length = 0;
    unhandled = 0;
    const mails: Record<string, number> = { 'https://mail.example/en/404': 404, 'https://mail.example/en/429': 429 };
    vi.stubGlobal(
      'fetch',
      async (url: string) => new Response('', { status: mails[url] ?? 200, headers: { 'x-id': url } }),
    );
    // At noon: the nightly schedule does not fire within the hour that a test lets pass.
    fake = new FakeServer({ now: new Date('2026-11-16T12:00:00Z') });
    millrace = new Millrace({ ...fake.options, logger: silentLogger });
    // 9. worker
    worker = new Worker({
      ...fake.options,
      queues: { emails: 20, images: 4, orders: 2, tasks: 1 },
      handlers,
      client: millrace,
      lease: '60s',
      shutdown: '25s',
      signals: false,
      logger: silentLogger,
    });
    running = worker.run();
  });
  afterEach(async () => {
    await worker.stop();
    const summary = await running;
    same<typeof summary.completed, number>(true);
    // Only what there is no handler for is given back.
    expect(summary.released).toBeLessThanOrEqual(unhandled);
    vi.unstubAllGlobals();
  });

  it('enqueue and wait', async () => {
    const job = await millrace.enqueue(sendWelcome, { userId: 42 });
    const welcome = await job.result({ timeout: '30s' });
    same<typeof welcome, { messageId: string }>(true);
    expect(welcome).toEqual({ messageId: 'https://mail.example/en/42' });
    await (await millrace.enqueue(sweep)).result();
  });

  it('create batches, typed by position', async () => {
    const [a, b] = await millrace.enqueueMany([
      sendWelcome.with({ userId: 1 }),
      resize.with({ image: 7 }, { priority: 5 }),
    ]);
    const [ra, rb] = await millrace.waitAll([a, b]);
    same<typeof ra, { messageId: string }>(true);
    same<typeof rb, { bytes: number }>(true);
    expect([ra, rb]).toEqual([{ messageId: 'https://mail.example/en/1' }, { bytes: 7 }]);
    const many = await millrace.enqueueMany([1, 2, 3].map((image) => resize.with({ image })));
    const sizes = await millrace.waitAll(many);
    same<(typeof sizes)[number], { bytes: number }>(true);
    expect(sizes).toEqual([{ bytes: 1 }, { bytes: 2 }, { bytes: 3 }]);
    // Each of them enqueued one sweep.
    expect(fake.jobs.filter((job) => job.task === 'sweep')).toHaveLength(4);
  });

  it('enqueue later, and once', async () => {
    const options = { delay: '10m', key: 'welcome-42', metadata: { source: 'signup' } } as const;
    const first = await millrace.enqueue(sendWelcome, { userId: 42 }, options);
    const again = await millrace.enqueue(sendWelcome, { userId: 42 }, options);
    expect(again.id).toBe(first.id);
    const late = await millrace.enqueue(resize, { image: 7 }, { runAt: new Date('2031-01-31T09:00:00Z') });
    expect((await late.get()).scheduledAt).toEqual(new Date('2031-01-31T09:00:00Z'));
    expect((await first.get()).status).toBe('pending');
    await fake.advance('10m');
    expect(await first.result()).toEqual({ messageId: 'https://mail.example/en/42' });
  });

  it('keep schedules', async () => {
    const nightly = await millrace.schedules.put({
      name: 'nightly',
      cron: '30 3 * * *',
      task: resize,
      input: { image: 0 },
    });
    await millrace.schedules.put({ name: 'sweep', cron: '@hourly', task: sweep });
    expect(nightly.enabled).toBe(true);
    await fake.advance('1h');
    expect(fake.jobs.filter((job) => job.task === 'sweep')).toHaveLength(1);
  });

  it('run workflows', async () => {
    const run = await millrace.start(order, { sku: 'a-1', cents: 4200 }, { key: 'order-4711' });
    const out = await run.result();
    same<typeof out.ship, { parcel: string }>(true);
    same<typeof out.mail, { id: string } | undefined>(true); // its own policy is skip
    same<typeof out.advert, { text: string } | undefined>(true);
    expect(out.ship).toEqual({ parcel: '7/A-1/r-4200' });
    expect(out.advert).toBeUndefined();
    expect(seen).toEqual([{ parcel: '7/A-1/r-4200', hall: 'A-1' }]);

    const skipping = workflow({ name: 'skipping' })
      .step('first', advert, { onFailure: 'skip' })
      .step('second', advert, { after: ['first'] })
      .step('third', advert, { after: ['second'] });
    const skipped = await (await millrace.start(skipping, {})).result();
    same<typeof skipped.third, { text: string } | undefined>(true); // skipped all the way down
    expect(skipped).toEqual({});
  });

  it('say what a handler wants: no more tries, or one later', async () => {
    await expect((await millrace.enqueue(sendWelcome, { userId: 404 })).result()).rejects.toThrow('no such user');
    const job = await millrace.enqueue(sendWelcome, { userId: 429 });
    await expect.poll(async () => (await job.get()).status).toBe('retrying');
    const { nextRetryAt } = await job.get();
    expect(nextRetryAt!.getTime() - fake.now.getTime()).toBe(90_000);
  });

  it('read lists and events as async iterators', async () => {
    const job = await millrace.enqueue(sendWelcome, { userId: 1 });
    const states: string[] = [];
    for await (const state of job.watch()) states.push(state.status);
    expect(states.at(-1)).toBe('completed');
    const found: string[] = [];
    for await (const each of millrace.jobs.list({ status: 'completed', queue: 'emails' })) {
      same<typeof each.createdAt, Date>(true);
      found.push(each.id);
    }
    expect(found).toEqual([job.id]);
  });

  it('tell errors by class and by code', async () => {
    const error = await millrace.enqueue(sendWelcome, { userId: 'x' } as never).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({ details: [{ path: 'userId', message: 'must be a number' }] });
    if (error instanceof UnavailableError) same<typeof error.retryAfter, number | null>(true);
    if (error instanceof InvalidRequestError) same<typeof error.code, 'invalid_request'>(true);
    if (error instanceof JobFailedError) {
      same<typeof error.job.status, 'pending' | 'running' | 'retrying' | 'completed' | 'failed' | 'cancelled'>(true);
    }
    expect(fake.jobs).toEqual([]);
  });

  it('take recursive payloads and interfaces', async () => {
    unhandled = 2;
    type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
    const anything = task({ name: 'anything', input: type<{ body: Json }>(), output: type<{ body: Json }>() });
    await millrace.enqueue(anything, { body: { a: [1, { b: null }] } });
    workflow({ name: 'deep' })
      .step('one', anything, { payload: () => ({ body: [1, 2] }) })
      .step('two', anything, { after: ['one'], payload: ({ steps }) => ({ body: steps.one.body }) });
    interface Invoice {
      number: string;
      lines: { sku: string; cents: number }[];
    }
    const bill = task({ name: 'bill', input: type<Invoice>() });
    const anyJob = await millrace.enqueue(bill, { number: '1', lines: [{ sku: 'a', cents: 1 }] });
    same<Awaited<ReturnType<typeof anyJob.result>>, void | Record<string, unknown>>(true);
    expect(anyJob.id).toBeTruthy();
    expect(fake.jobs.map((job) => job.payload)).toEqual([
      { body: { a: [1, { b: null }] } },
      { number: '1', lines: [{ sku: 'a', cents: 1 }] },
    ]);
  });
});

describe('the samples of tests', () => {
  it('run a handler alone', async () => {
    const { result } = await runTask(
      sendWelcome,
      async ({ locale }) => ({ messageId: locale }),
      { userId: 1 },
      { attempt: 2 },
    );
    same<typeof result, { messageId: string }>(true);
    expect(result).toEqual({ messageId: 'en' });
  });

  it('run everything on a fake server', async () => {
    const fake = new FakeServer();
    const job = await new Millrace(fake.options).enqueue(resize, { image: 1 }, { delay: '1h' });
    await fake.drain([resize.handle(() => ({ bytes: 1 }))]);
    expect((await job.get()).status).toBe('pending');
    await fake.advance('1h');
    await fake.drain([resize.handle(() => ({ bytes: 1 }))]);
    expect(await job.result()).toEqual({ bytes: 1 });
  });
});
