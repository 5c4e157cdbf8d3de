import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  AbortedError,
  AlreadyFinishedError,
  InternalError,
  InvalidRequestError,
  Millrace,
  type MillraceError,
  NoAnswerError,
  task,
  type,
  UnauthorizedError,
  UnavailableError,
  errorFor,
  type ClientOptions,
  type MillraceErrorCode,
} from '../../src/index.js';
import { parseRetryAfter, retryDelayMs } from '../../src/http/retry.js';
import { scriptedFetch, type Scripted } from '../support/scripted-fetch.js';

const resize = task({ name: 'resize', queue: 'images', input: type<{ image: number }>() });
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/;
const CREATED: Scripted = { status: 201, body: { job_id: 'j-1' } };
const WHOAMI: Scripted = { status: 200, body: { features: ['idempotency', 'wait'] } };
const warn = vi.fn();
const logger = { debug: vi.fn(), info: vi.fn(), warn, error: vi.fn() };

function scripted(script: Record<string, readonly Scripted[]>, options: ClientOptions = {}) {
  const { fetch, calls } = scriptedFetch(script);
  return { millrace: new Millrace({ url: 'http://server/base/', token: 't', fetch, logger, ...options }), calls };
}

beforeEach(() => {
  warn.mockClear();
  // The pauses between tries are random; these take no time.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});

describe('a create', () => {
  it('carries a fresh key, strict handling and the token, and repeats with the same key', async () => {
    const { millrace, calls } = scripted({
      'POST /base/jobs': ['no answer', { status: 502 }, { status: 503, headers: { 'retry-after': '0' } }, CREATED],
    });
    const job = await millrace.enqueue(resize, { image: 7 });
    expect(job.id).toBe('j-1');
    expect(calls).toHaveLength(4);
    const keys = calls.map((call) => call.headers.get('idempotency-key'));
    expect(keys[0]).toMatch(UUID7);
    expect(new Set(keys).size).toBe(1);
    expect(calls[0]!.headers.get('prefer')).toBe('handling=strict');
    expect(calls[0]!.headers.get('authorization')).toBe('Bearer t');
    expect(calls[0]!.body).toEqual({ task_name: 'resize', payload: { image: 7 }, config: { queue: 'images' } });
    await millrace.enqueue(resize, { image: 7 });
    expect(calls[4]!.headers.get('idempotency-key')).not.toBe(keys[0]);
  });

  it('uses your key if you give one', async () => {
    const { millrace, calls } = scripted({ 'POST /base/jobs': [CREATED] });
    await millrace.enqueue(resize, { image: 7 }, { key: 'mine' });
    expect(calls[0]!.headers.get('idempotency-key')).toBe('mine');
  });

  it('gives up after five tries and says that it may have happened', async () => {
    const { millrace, calls } = scripted({ 'POST /base/jobs': ['no answer'] });
    const error = await millrace.enqueue(resize, { image: 7 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NoAnswerError);
    expect(error).toMatchObject({ code: 'no_answer', status: null, mayHaveHappened: true });
    // Words for people; the route is a field.
    expect((error as MillraceError).message).toMatch(/^no answer from http\S+ \(connect ECONNREFUSED\)$/);
    expect((error as MillraceError).route).toBe('POST /jobs');
    expect((error as MillraceError).key).toMatch(UUID7);
    expect(calls).toHaveLength(5);
  });

  it('treats a try that takes longer than its time as unanswered', async () => {
    const { millrace, calls } = scripted({ 'POST /base/jobs': ['hangs', CREATED] }, { timeout: '1h' });
    // The second try must not take longer than its time, however slow the machine is.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const created = millrace.enqueue(resize, { image: 7 });
    await expect.poll(() => calls.length).toBe(1);
    await vi.advanceTimersByTimeAsync(3_599_000);
    expect(calls).toHaveLength(1);
    while (calls.length === 1) await vi.advanceTimersByTimeAsync(1_000);
    expect((await created).id).toBe('j-1');
    expect(calls).toHaveLength(2);
  });

  it('has not happened if the service refused every try itself', async () => {
    const { millrace } = scripted({ 'POST /base/jobs': [{ status: 503, headers: { 'retry-after': '0' } }] });
    const error = await millrace.enqueue(resize, { image: 7 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ retryAfter: 0, mayHaveHappened: false, status: 503 });
  });

  it('does not repeat what was answered for good', async () => {
    const body = {
      error: 'config.queue is odd',
      code: 'invalid_request',
      details: [{ path: 'config.queue', message: 'is odd' }],
    };
    const { millrace, calls } = scripted({
      'POST /base/jobs': [{ status: 400, body, headers: { 'x-request-id': 'r-9' } }],
    });
    const error = await millrace.enqueue(resize, { image: 7 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({ status: 400, requestId: 'r-9', details: body.details, mayHaveHappened: false });
    expect(error).toMatchObject({ message: 'config.queue is odd', route: 'POST /jobs' });
    expect(calls).toHaveLength(1);
  });

  it('is not repeated where an older server would ignore its key', async () => {
    const { millrace, calls } = scripted({ 'POST /base/jobs/batch': ['no answer'] });
    const error = await millrace.enqueueMany([resize.with({ image: 1 })]).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'no_answer', mayHaveHappened: true });
    expect(calls.map((call) => call.path)).toEqual(['/base/jobs/batch', '/base/whoami']);
  });

  it('is repeated where the server knows keys of batches', async () => {
    const { millrace, calls } = scripted({
      'POST /base/jobs/batch': ['no answer', { status: 201, body: { job_ids: ['a'], count: 1 } }],
      'GET /base/whoami': [WHOAMI],
    });
    expect(await millrace.enqueueMany([resize.with({ image: 1 })])).toMatchObject([{ id: 'a' }]);
    const keys = calls.filter((call) => call.method === 'POST').map((call) => call.headers.get('idempotency-key'));
    expect(new Set(keys).size).toBe(1);
  });
});

describe('a call after an unanswered try', () => {
  const FINISHED: Scripted = { status: 409, body: { error: 'over', code: 'already_finished' } };

  it('has succeeded if the job is found finished', async () => {
    const { millrace } = scripted({ 'POST /base/jobs/x/cancel': ['no answer', FINISHED] });
    await millrace.jobs.cancel('x');
  });

  it('has not if nothing went unanswered', async () => {
    const { millrace } = scripted({ 'POST /base/jobs/x/cancel': [FINISHED] });
    await expect(millrace.jobs.cancel('x')).rejects.toBeInstanceOf(AlreadyFinishedError);
  });

  it('finds the job of a replay that took effect', async () => {
    const { millrace } = scripted({
      'POST /base/dlq/7/replay': ['no answer', { status: 409, body: { error: 'twice', code: 'already_replayed' } }],
      'GET /base/dlq/7': [{ status: 200, body: { id: 7, replay_job_id: 'fresh' } }],
    });
    expect((await millrace.deadLetters.replay(7)).id).toBe('fresh');
  });
});

describe('an abort', () => {
  it('ends a call, with the reason as its cause', async () => {
    const { millrace } = scripted({ 'POST /base/jobs': ['hangs'] });
    const controller = new AbortController();
    const call = millrace
      .enqueue(resize, { image: 7 }, { signal: controller.signal })
      .catch((reason: unknown) => reason);
    controller.abort('enough');
    expect(await call).toMatchObject({ code: 'aborted', cause: 'enough' });
  });

  it('sends nothing if it came first', async () => {
    const { millrace, calls } = scripted({ 'POST /base/jobs': [CREATED] });
    const signal = AbortSignal.abort('no');
    const error = await millrace.enqueue(resize, { image: 7 }, { signal }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AbortedError);
    expect(error).toMatchObject({ mayHaveHappened: false });
    expect(calls).toHaveLength(0);
  });
});

describe('answers', () => {
  it('log each warning once', async () => {
    const { millrace } = scripted({
      'POST /base/jobs': [{ status: 201, body: { job_id: 'j', warnings: ['a', 'b'] } }],
    });
    await millrace.enqueue(resize, { image: 1 });
    await millrace.enqueue(resize, { image: 2 });
    expect(warn.mock.calls.map(([line]) => line as string)).toEqual(['the server says: a', 'the server says: b']);
  });

  it('to a key with another body than before are warned of, once', async () => {
    const headers = { 'Idempotency-Mismatch': 'true' };
    const { millrace } = scripted({ 'POST /base/jobs': [{ status: 200, body: { job_id: 'j' }, headers }] });
    for (const image of [1, 2]) await millrace.enqueue(resize, { image }, { key: 'once' });
    expect(warn.mock.calls.map(([line]) => line as string)).toEqual([
      'the server says: the key once was used before with another body, and what came of that was answered (POST /jobs)',
    ]);
  });

  it('that are not the service’s own have the class of their status', async () => {
    const { millrace } = scripted({ 'GET /base/jobs/x': [{ status: 401, body: 'who are you' }] });
    const refused: unknown = await millrace.jobs.get('x').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UnauthorizedError);
    expect(refused).toMatchObject({ message: 'the server answered 401', route: 'GET /jobs/x' });
    const { millrace: other } = scripted({ 'GET /base/jobs/x': [{ status: 500, body: { code: 'invented' } }] });
    await expect(other.jobs.get('x')).rejects.toBeInstanceOf(InternalError);
  });

  it('have one class per code', () => {
    const codes: MillraceErrorCode[] = ['invalid_request', 'unauthorized', 'forbidden', 'not_found'];
    codes.push('method_not_allowed', 'conflict', 'lease_lost', 'already_replayed', 'already_finished');
    codes.push(
      'payload_too_large',
      'unsupported_media_type',
      'unavailable',
      'internal',
      'no_answer',
      'timeout',
      'aborted',
    );
    const classes = codes.map((code) => errorFor('x', { code }).constructor);
    expect(new Set(classes).size).toBe(codes.length);
    for (const code of codes)
      expect(errorFor('x', { code })).toMatchObject({ code, name: errorFor('x', { code }).constructor.name });
  });
});

describe('an older server', () => {
  it('is told an instant instead of a delay', async () => {
    const { millrace, calls } = scripted({ 'POST /base/jobs': [CREATED] });
    const before = Date.now();
    await millrace.enqueue(resize, { image: 1 }, { delay: '10m' });
    const body = calls.at(-1)!.body as { run_at: string; delay_secs?: number };
    expect(Date.parse(body.run_at)).toBeGreaterThanOrEqual(before + 600_000);
    expect(body.delay_secs).toBeUndefined();
  });

  it('is asked again and again instead of waiting', async () => {
    const running = {
      id: 'x',
      status: 'running',
      created_at: '2026-01-01T00:00:00Z',
      scheduled_at: '2026-01-01T00:00:00Z',
    };
    const done = { ...running, status: 'completed', result: { ok: 1 } };
    const { millrace, calls } = scripted({
      'GET /base/jobs/x': [{ status: 200, body: running }, 'no answer', { status: 200, body: done }],
    });
    expect(await millrace.jobs.handle(resize, 'x').result()).toEqual({ ok: 1 });
    expect(
      calls.filter((call) => call.path === '/base/jobs/x').every((call) => call.query.wait_secs === undefined),
    ).toBe(true);
  });
});

describe('a newer server', () => {
  it('is told the delay in seconds, and asked what it can do only once', async () => {
    const { millrace, calls } = scripted({ 'POST /base/jobs': [CREATED], 'GET /base/whoami': [WHOAMI] });
    await millrace.enqueue(resize, { image: 1 }, { delay: '1500ms' });
    await millrace.enqueue(resize, { image: 1 }, { delay: '1m' });
    expect(calls.filter((call) => call.path === '/base/whoami')).toHaveLength(1);
    expect(calls.filter((call) => call.method === 'POST').map((call) => call.body.delay_secs)).toEqual([2, 60]);
  });

  it('waits for the end of a job', async () => {
    const done = { id: 'x', status: 'completed', result: { ok: 1 }, created_at: '2026-01-01T00:00:00Z' };
    const { millrace, calls } = scripted({
      'GET /base/jobs/x': [{ status: 200, body: done }],
      'GET /base/whoami': [WHOAMI],
    });
    await millrace.jobs.handle(resize, 'x').result({ timeout: '1h' });
    expect(Number(calls.at(-1)!.query.wait_secs)).toBeGreaterThanOrEqual(4);
  });
});

describe('the pause between two tries', () => {
  it('is what the server asks for, up to a minute', () => {
    expect([0, 2, 3_600].map((secs) => retryDelayMs(1, secs))).toEqual([0, 2_000, 60_000]);
    expect(parseRetryAfter('2')).toBe(2);
    expect(parseRetryAfter('Thu, 01 Jan 1970 00:00:09 GMT', 4_000)).toBe(5);
    expect(parseRetryAfter('soon')).toBeNull();
  });

  it('is random otherwise, over a range that grows to five seconds', () => {
    const most = [1, 2, 3, 4, 9].map((tries) => retryDelayMs(tries, null, () => 1));
    expect(most).toEqual([200, 800, 3_200, 5_000, 5_000]);
    expect(retryDelayMs(9, null, () => 0)).toBe(0);
  });
});
