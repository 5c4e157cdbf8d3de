import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { AuthError, ShuttingDown, silentLogger } from '@millrace/sdk';
import { Worker } from '@millrace/sdk/worker';
import { describe, expect, it } from 'vitest';
import { aborted, beating, freshTask, gate, recordingLogger, until, useWorkerKit } from '../support/worker-kit.js';

describe('a worker that stops', async () => {
  const { server, millrace, start } = await useWorkerKit();

  it('finishes what it has, and says how its jobs ended', async () => {
    const long = freshTask('long');
    const held = gate();
    const { worker, running, events } = start([long.handle(() => held.opened)]);
    const job = await millrace.enqueue(long);
    await until(() => worker.health.held === 1);
    const stopped = worker.stop();
    expect(worker.health.status).toBe('draining');
    held.open();
    await stopped;
    expect(worker.health).toMatchObject({ status: 'stopped', held: 0, lastPollAt: expect.any(Date) });
    expect(await running).toEqual({ completed: 1, failed: 0, released: 0 });
    expect((await job.get()).status).toBe('completed');
    expect(events.at(-1)).toMatchObject({ type: 'stopped' });
  });

  it('says at the first Ctrl-C what it finishes, and gives it back at the second', async () => {
    const slow = freshTask('slow');
    const { logger, lines } = recordingLogger();
    const before = process.listeners('SIGINT');
    const { worker, running } = start([slow.handle((_, { signal }) => aborted(signal).then(() => undefined))], {
      ...{ signals: true, logger },
    });
    const jobs = await millrace.enqueueMany([slow.with({}), slow.with({}), slow.with({})]);
    await until(() => worker.health.held === 3);
    // As a process would be told, without telling the rest of this one.
    const [told] = process.listeners('SIGINT').filter((listener) => !before.includes(listener));
    told!('SIGINT');
    expect(worker.health.status).toBe('draining');
    const says = { level: 'info', message: 'finishing 3 jobs; press Ctrl-C again to give them back' };
    expect(lines).toContainEqual(says);
    told!('SIGINT');
    expect(await running).toMatchObject({ failed: 0 });
    expect(lines.filter(({ message }) => message.startsWith('finishing'))).toHaveLength(1);
    expect(process.listeners('SIGINT')).toEqual(before);
    for (const { id } of jobs) expect(await millrace.jobs.get(id)).toMatchObject({ retryCount: 0, errorMessage: null });
  });

  it('reads an answer that came while its process stood still, and gives its jobs back', async () => {
    const short = freshTask('short');
    const job = await millrace.enqueue(short);
    let stop: (() => void) | null = null;
    // Answers are passed on at the moment of the stop, and nothing happens for longer than an open poll may take then.
    const standingStill = createServer((request, response) => {
      void text(request).then(async (body) => {
        const { authorization } = request.headers as { authorization: string };
        const headers = { authorization, 'content-type': 'application/json' };
        const init = { method: request.method!, headers, ...(body !== '' && { body }) };
        const answer = await fetch(new URL(request.url!, server.url), init);
        const answered = await answer.text();
        const isLease = request.url!.endsWith('/lease') && answered.includes(job.id);
        if (isLease) stop!();
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answered);
        if (isLease) stall(700);
      });
    });
    standingStill.listen(0, '127.0.0.1');
    await once(standingStill, 'listening');
    const url = `http://127.0.0.1:${(standingStill.address() as AddressInfo).port}`;
    const { worker, running } = start([short.handle(() => undefined)], { url });
    stop = () => void worker.stop();
    const ended = await running;
    standingStill.close();
    standingStill.closeAllConnections();
    expect(ended).toEqual({ completed: 0, failed: 0, released: 1 });
    expect(await job.get()).toMatchObject({ status: 'pending', retryCount: 0 });
  });

  it('stops once, however often it is asked', async () => {
    const idle = freshTask('idle');
    const { worker, running, events } = start([idle.handle(() => undefined)]);
    await until(() => worker.health.lastPollAt !== null);
    expect(worker.stop()).toBe(worker.stop({ timeout: '1h' }));
    await running;
    expect(events.filter(({ type }) => type === 'stopped')).toHaveLength(1);
  });

  it('tells handlers when the time is up and gives their jobs back for free', async () => {
    const endless = freshTask('endless');
    let reason: unknown;
    const { worker, running } = start([
      endless.handle(async (_, { signal }) => {
        reason = await aborted(signal);
        throw reason;
      }),
    ]);
    const job = await millrace.enqueue(endless);
    await until(() => worker.health.held === 1);
    await worker.stop({ timeout: '50ms' });
    expect(reason).toBeInstanceOf(ShuttingDown);
    expect(await running).toEqual({ completed: 0, failed: 0, released: 1 });
    expect(await job.get()).toMatchObject({ status: 'pending', retryCount: 0, deliveryCount: 1 });
  });

  it('takes a result that comes within the grace', async () => {
    const late = freshTask('late');
    const { worker } = start([
      late.handle(async (_, { signal }) => {
        await aborted(signal);
        return { just: 'in time' };
      }),
    ]);
    const job = await millrace.enqueue(late);
    await until(() => worker.health.held === 1);
    await worker.stop({ timeout: '50ms' });
    expect(await job.result()).toEqual({ just: 'in time' });
  });

  it('does not wait for a handler that ignores its signal', async () => {
    const deaf = freshTask('deaf');
    const held = gate();
    const { worker } = start([deaf.handle(() => held.opened)]);
    const job = await millrace.enqueue(deaf);
    await until(() => worker.health.held === 1);
    await worker.stop({ timeout: '50ms' });
    // Nor does it wait long for the answer to what it gives back.
    const record = await until(async () => {
      const found = await job.get();
      return found.status === 'pending' ? found : found.status;
    });
    expect(record.retryCount).toBe(0);
    held.open();
  });

  it('does not wait for a server that does not answer', async () => {
    const lost = freshTask('lost');
    const held = gate();
    let isGone = false;
    const fetchUntilGone: typeof fetch = (input, init) => (isGone ? new Promise(() => undefined) : fetch(input, init));
    const { worker, running } = start([lost.handle(() => held.opened)], { fetch: fetchUntilGone });
    await millrace.enqueue(lost);
    await until(() => worker.health.held === 1);
    isGone = true;
    held.open();
    await worker.stop({ timeout: '50ms' });
    expect(await running).toEqual({ completed: 0, failed: 0, released: 0 });
  });

  it('gives up on a token that the server does not accept, once its jobs have ended', async () => {
    const long = freshTask('long');
    const held = gate();
    let isRevoked = false;
    const refusing: typeof fetch = (input, init) =>
      isRevoked && (input as string).endsWith('/lease')
        ? Promise.resolve(new Response('{"error":"unknown token","code":"unauthorized"}', { status: 401 }))
        : fetch(input, init);
    const { worker, running } = start([long.handle(() => held.opened)], { fetch: refusing, poll: '1s' });
    const job = await millrace.enqueue(long);
    await until(() => worker.health.held === 1);
    isRevoked = true;
    await until(() => worker.health.status === 'draining');
    held.open();
    await expect(running).rejects.toBeInstanceOf(AuthError);
    expect((await job.get()).status).toBe('completed');
  });

  it('repeats a report until it is answered', async () => {
    const stubborn = freshTask('stubborn');
    let failures = 2;
    let bodies: unknown[] = [];
    const flaky: typeof fetch = async (input, init) => {
      if (!(input as string).endsWith('/reports')) return fetch(input, init);
      bodies = [...bodies, init?.body];
      if (failures-- <= 0) return fetch(input, init);
      // The first is lost before the server, the second after it.
      if (failures === 0) await fetch(input, init);
      throw new TypeError('fetch failed');
    };
    const { running, worker } = start([stubborn.handle(() => ({ n: 1 }))], { fetch: flaky });
    const job = await millrace.enqueue(stubborn);
    await until(() => bodies.length === 3 || `${bodies.length} reports`);
    await worker.stop();
    expect(new Set(bodies).size).toBe(1);
    expect(await running).toMatchObject({ completed: 1 });
    expect((await job.get()).deliveryCount).toBe(1);
  });

  it('does not ask in a tight loop if the server does not wait', async () => {
    const idle = freshTask('idle');
    const asked: number[] = [];
    const empty: typeof fetch = (input, init) => {
      if (!(input as string).endsWith('/lease')) return fetch(input, init);
      asked.push(performance.now());
      return Promise.resolve(new Response('{"jobs":[]}'));
    };
    start([idle.handle(() => undefined)], { fetch: empty });
    await until(() => asked.length === 2);
    expect(asked[1]! - asked[0]!).toBeGreaterThan(500);
  });

  it('drops a report on a job that was cancelled meanwhile', async () => {
    const unlucky = freshTask('unlucky');
    const reports: unknown[] = [];
    const deaf: typeof fetch = (input, init) => {
      if (!(input as string).endsWith('/reports')) return fetch(input, init);
      reports.push(init?.body);
      return Promise.reject(new TypeError('fetch failed'));
    };
    const { handler, beat } = beating(unlucky, async () => undefined);
    const { events } = start([handler], { fetch: deaf });
    const job = await millrace.enqueue(unlucky);
    await until(() => reports.length > 0);
    await job.cancel();
    beat();
    await until(() => events.some(({ type }) => type === 'cancelled') || 'not told');
    expect(events.map(({ type }) => type)).toEqual(['polling', 'started', 'cancelled']);
  });

  it('never started, has nothing to do', async () => {
    const idle = freshTask('idle');
    const worker = new Worker({ queues: { a: 1 }, handlers: [idle.handle(() => undefined)], logger: silentLogger });
    await worker.stop();
    await expect(worker.run()).rejects.toThrow('runs once');
  });
});

describe('the options of a worker', () => {
  const handler = freshTask('one').handle(() => undefined);
  it.each([
    ['no queue', { queues: {}, handlers: [] }, 'needs a queue'],
    ['half a slot', { queues: { a: 0.5 }, handlers: [] }, 'whole number of slots'],
    ['a lease of a day', { queues: { a: 1 }, handlers: [], lease: '1d' }, 'lease must be between'],
    ['two handlers for a task', { queues: { a: 1 }, handlers: [handler, handler] }, 'two handlers for the task'],
    ['a fetch in a thread', { queues: { a: 1 }, handlers: [], fetch, keeper: 'thread' }, 'keeper thread'],
  ] as const)('%s is refused', (_title, options, message) => {
    expect(() => new Worker(options)).toThrow(message);
  });
});

/** The process does nothing else meanwhile. */
function stall(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}
