import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { PATIENCE_MS } from '@millrace/tools-shared';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { forbidden, MillraceError, notFound, unavailable } from '../../../src/domain/errors.js';
import type { JobRecord } from '../../../src/domain/records.js';
import type { JobNews } from '../../../src/engine/api.js';
import { JOB_ID, jobRecord, KEY_A, startApp, states, type TestApp } from '../harness.js';

const PATH = `/api/v1/jobs/${JOB_ID}/events`;

/** A job whose states a test pushes one by one. */
function watchedJob() {
  const pending: JobNews[] = [];
  let wake: () => void = () => undefined;
  let seen: AbortSignal | undefined;
  let pulled = 0;
  let returned = false;
  async function* follow(signal: AbortSignal): AsyncGenerator<JobNews> {
    signal.addEventListener('abort', () => wake());
    try {
      while (!signal.aborted) {
        const next = pending.shift();
        if (next === undefined) {
          await new Promise<void>((resolve) => (wake = resolve));
          continue;
        }
        pulled++;
        yield next;
      }
    } finally {
      returned = true;
    }
  }
  return {
    watch: async (_tenant: string, _id: string, signal: AbortSignal) => follow((seen = signal)),
    push: (...records: JobRecord[]) => (
      pending.push(...records.map((job) => ({ kind: 'status' as const, job }))),
      wake()
    ),
    report: (progress: string) => (pending.push({ kind: 'progress', progress }), wake()),
    signal: () => seen!,
    pulled: () => pulled,
    returned: () => returned,
  };
}

const running: TestApp[] = [];
async function start(watch: TestApp['engine']['jobs']['watch']): Promise<TestApp> {
  const app = await startApp({ engine: { jobs: { watch } } });
  running.push(app);
  return app;
}

afterEach(async () => {
  vi.useRealTimers();
  for (const app of running.splice(0)) await app.close();
});

/** Reads a stream block by block. */
function reader(response: Response) {
  const stream = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  return {
    next: async (): Promise<string | null> => {
      for (;;) {
        const end = buffer.indexOf('\n\n');
        if (end !== -1) {
          const block = buffer.slice(0, end);
          buffer = buffer.slice(end + 2);
          return block;
        }
        const { value, done } = await stream.read();
        if (done) return null;
        buffer += value;
      }
    },
    cancel: () => stream.cancel(),
  };
}

const stateOf = (block: string | null): unknown => {
  const [event, data] = (block ?? '').split('\n');
  expect(event).toBe('event: status');
  expect(data).toMatch(/^data: \{/);
  return (JSON.parse(data!.slice('data: '.length)) as JobRecord).status;
};

describe('the event stream of a job', () => {
  it('sends the state of a finished job and ends', async () => {
    const { a, engine } = await start(async () => states(jobRecord({ status: 'completed', result: '{"ok":true}' })));
    const reply = await a.get(PATH);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.headers.get('x-accel-buffering')).toBe('no');
    expect(reply.headers.get('x-request-id')).toBeTruthy();
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    const record = JSON.parse(/^event: status\ndata: (.*)\n\n$/.exec(reply.text)![1]!) as object;
    expect(record).toMatchObject({ id: JOB_ID, status: 'completed', result: { ok: true }, payload: { n: 1 } });
    expect(record).not.toHaveProperty('lease_token');
    expect(engine.last('jobs.watch').slice(0, 2)).toEqual(['tenant-a', JOB_ID]);
  });

  it('sends every state as it comes', async () => {
    const job = watchedJob();
    const { a } = await start(job.watch);
    const stream = reader(await a.open('GET', PATH));
    for (const status of ['pending', 'running', 'retrying', 'running'] as const) {
      job.push(jobRecord({ status }));
      expect(stateOf(await stream.next())).toBe(status);
    }
    await stream.cancel();
  });

  it('sends progress between states, on one line', async () => {
    const job = watchedJob();
    const { a } = await start(job.watch);
    const stream = reader(await a.open('GET', PATH));
    job.report('{\n "done": 7.10,\r\n "s": "x\\ny" }');
    expect(await stream.next()).toBe('event: progress\ndata: {  "done": 7.10,  "s": "x\\ny" }');
    job.push(jobRecord({ status: 'running' }));
    expect(stateOf(await stream.next())).toBe('running');
    await stream.cancel();
  });

  it('opens before there is anything to send', async () => {
    const job = watchedJob();
    const { a } = await start(job.watch);
    const response = await a.open('GET', PATH);
    expect(response.status).toBe(200);
    await response.body!.cancel();
  });

  it('sends a payload of many lines as one line with the same meaning', async () => {
    const payload = '{\r\n  "a": [1,\n 2],\r "s": "x\\ny\u2028z"\n}';
    const { a } = await start(async () => states(jobRecord({ payload, result: '{\n}', metadata: '\n{}' })));
    const { text } = await a.get(PATH);
    expect(text.split('\n')).toHaveLength(4);
    const { payload: told } = JSON.parse(text.split('\n')[1]!.slice(6)) as { payload: unknown };
    expect(told).toEqual(JSON.parse(payload));
  });

  it('carries jobs of any size', async () => {
    const payload = JSON.stringify({ s: 'x'.repeat(5_000_000) });
    const { a } = await start(async () => states(jobRecord({ payload }), jobRecord({ status: 'completed', payload })));
    expect((await a.get(PATH)).text.length).toBeGreaterThan(10_000_000);
  });

  it.each([
    [404, notFound('job')],
    [403, forbidden('another tenant')],
    [503, unavailable('the database is out of reach')],
    [500, new Error('fault')],
  ])('answers %i in JSON before it begins', async (status, error) => {
    const { a } = await start(async () => Promise.reject(error));
    const reply = await a.get(PATH);
    expect([reply.status, reply.body.code]).toEqual([status, error instanceof MillraceError ? error.code : 'internal']);
  });

  it('breaks off if the engine does, without harm to the server', async () => {
    async function* broken(): AsyncGenerator<JobNews> {
      yield* states(jobRecord());
      throw new Error('the database went away');
    }
    const { a } = await start(async () => broken());
    await expect(a.get(PATH).then((reply) => reply.text)).rejects.toThrow();
    expect((await a.get('/health')).status).toBe(200);
  });

  it('releases the engine when the client leaves', async () => {
    const job = watchedJob();
    const { a } = await start(job.watch);
    const stream = reader(await a.open('GET', PATH));
    job.push(jobRecord());
    await stream.next();
    expect(job.signal().aborted).toBe(false);
    const gone = once(job.signal(), 'abort');
    await stream.cancel();
    await gone;
    await expect.poll(() => job.returned()).toBe(true);
  });

  it('ends at once when the server closes', async () => {
    const job = watchedJob();
    const { a, close } = await start(job.watch);
    const stream = reader(await a.open('GET', PATH));
    job.push(jobRecord());
    await stream.next();
    await close();
    expect(await stream.next()).toBeNull();
    expect(job.returned()).toBe(true);
  });

  it('has no HEAD', async () => {
    const { a, engine } = await start(async () => states(jobRecord()));
    expect((await a.send('HEAD', PATH)).status).toBe(405);
    expect(engine.last('jobs.watch')).toEqual([]);
  });

  it('keeps the connection alive with comments and ends after 15 minutes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    const job = watchedJob();
    const { a } = await start(job.watch);
    const stream = reader(await a.open('GET', PATH));
    job.push(jobRecord());
    stateOf(await stream.next());
    for (let seconds = 15; seconds < 15 * 60; seconds += 15) {
      await vi.advanceTimersByTimeAsync(15_000);
      expect(await stream.next()).toBe(': keep-alive');
      expect(job.signal().aborted).toBe(false);
    }
    await vi.advanceTimersByTimeAsync(15_000);
    let last = await stream.next();
    if (last === ': keep-alive') last = await stream.next();
    expect(last).toBeNull();
    expect(job.signal().aborted).toBe(true);
  });
});

describe('a client that does not read', () => {
  const openSilently = (port: number): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    socket.write(`GET ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY_A}\r\n\r\n`);
    return socket;
  };
  const big = jobRecord({ payload: JSON.stringify({ s: 'x'.repeat(1_000_000) }) });

  it('does not make the heap grow: nothing more is read from the engine until it reads', async () => {
    const job = watchedJob();
    const { port } = await start(job.watch);
    const socket = openSilently(port);
    await expect.poll(() => job.signal()).toBeDefined();
    job.push(...Array.from({ length: 100 }, () => big));
    let before = -1;
    await vi.waitFor(
      () => {
        const now = job.pulled();
        const settled = now === before && now > 0;
        before = now;
        expect(settled).toBe(true);
      },
      { interval: 200, timeout: PATIENCE_MS },
    );
    expect(job.pulled()).toBeLessThan(50);
    socket.resume();
    await expect.poll(() => job.pulled()).toBe(100);
    socket.destroy();
  });

  it('does not delay shutdown', async () => {
    const job = watchedJob();
    const { port, close } = await start(job.watch);
    const socket = openSilently(port);
    await expect.poll(() => job.signal()).toBeDefined();
    job.push(...Array.from({ length: 100 }, () => big));
    await expect.poll(() => job.pulled()).toBeGreaterThan(0);
    await close();
    socket.destroy();
  });
});

describe('many streams on one large job', () => {
  it('are sent in pieces, so that others get their turn in between', async () => {
    const record = jobRecord({ status: 'completed', result: `{"text":"${'x'.repeat(2 * 1024 * 1024)}"}` });
    const { app, a } = await start(async () => states(record));
    const sockets: Socket[] = [];
    app.server.on('connection', (socket: Socket) => void sockets.push(socket));
    const written = (): number => sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    let most = 0;
    let watching = true;
    const look = (before: number): void => {
      const now = written();
      most = Math.max(most, now - before);
      if (watching) setImmediate(look, now);
    };
    look(0);
    const replies = await Promise.all(Array.from({ length: 20 }, () => a.get(PATH)));
    watching = false;
    for (const { text } of replies) expect(text.length).toBeGreaterThan(2 * 1024 * 1024);
    expect(written()).toBeGreaterThan(20 * 2 * 1024 * 1024);
    expect(most).toBeLessThan(1024 * 1024);
  });
});
