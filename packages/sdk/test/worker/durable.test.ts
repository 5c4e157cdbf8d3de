import { Millrace, NonRetryableError, silentLogger, type, type JobContext } from '@millrace/sdk';
import { FakeServer, runTask } from '@millrace/sdk/testing';
import { describe, expect, it } from 'vitest';
import { freshTask, until, useWorkerKit } from '../support/worker-kit.js';

describe('a durable handler', async () => {
  const { server, millrace, start } = await useWorkerKit();
  /** As if the time that it waits had passed. */
  const passTime = async (id: string): Promise<void> => {
    await server.database.query(`UPDATE millrace.waits SET until = now() WHERE job_id = $1`, [id]);
    await server.database.query(`UPDATE millrace.ready SET scheduled_at = now(), later = NULL WHERE id = $1`, [id]);
  };
  const suspended = (id: string) =>
    until(async () => {
      const job = await millrace.jobs.get(id);
      return job.waitingFor !== null ? job : `it is ${job.status}`;
    });

  it('runs each step once, whatever happens between them', async () => {
    const refund = freshTask('refund', { retries: { max: 5, delay: '0s', jitter: 0 } });
    const ran: string[] = [];
    let crashes = 3;
    const step = (name: string, value: unknown) => () => {
      ran.push(name);
      return value;
    };
    start([
      refund.handle(async (_, ctx) => {
        ran.push('start');
        const charge = await ctx.step('find charge', step('find', { id: 'ch_1', none: undefined }));
        if (crashes-- > 0) throw new Error(`crash ${crashes}`);
        const nothing = await ctx.step('log', step('log', undefined));
        return { charge, nothing, key: ctx.key('refund') };
      }),
    ]);
    const job = await millrace.enqueue(refund);
    expect(await job.result()).toEqual({ charge: { id: 'ch_1' }, nothing: null, key: `${job.id}:refund` });
    expect(ran).toEqual(['start', 'find', 'start', 'start', 'start', 'log']);
    expect(await millrace.jobs.checkpoints(job.id)).toMatchObject([
      { name: 'find charge', value: { id: 'ch_1' }, attempt: 1 },
      { name: 'log', value: null, attempt: 4 },
    ]);
  });

  it('sleeps without holding a worker, and goes on where it was', async () => {
    const nap = freshTask('nap');
    let starts = 0;
    const { events } = start([
      nap.handle(async (_, ctx) => {
        starts++;
        const before = await ctx.step('before', () => starts);
        await ctx.sleep('an hour', '1h');
        await ctx.sleep('a moment', '10ms');
        return { before, starts };
      }),
    ]);
    const job = await millrace.enqueue(nap);
    const waiting = await suspended(job.id);
    expect(waiting).toMatchObject({ status: 'pending', waitingFor: { checkpoint: 'an hour', signal: null } });
    await until(() => events.some(({ type: kind }) => kind === 'suspended') || 'no event');
    await millrace.jobs.runNow(job.id);
    expect(await job.result()).toEqual({ before: 1, starts: 2 });
  });

  it('waits for a signal, and gets null if none comes in time', async () => {
    const ask = freshTask('ask');
    start([
      ask.handle(async (_, ctx) => {
        const answer = await ctx.waitFor('approval', {
          timeout: '3d',
          ask: { text: 'Refund?' },
          schema: type<{ ok: boolean }>(),
        });
        return { answer };
      }),
    ]);
    const job = await millrace.enqueue(ask);
    expect((await suspended(job.id)).waitingFor).toMatchObject({
      signal: 'approval',
      key: job.id,
      ask: { text: 'Refund?' },
    });
    expect(await millrace.signals.sendToJob(job.id, 'approval', { ok: true })).toEqual({ delivered: true });
    expect(await job.result()).toEqual({ answer: { ok: true } });

    const other = await millrace.enqueue(ask);
    await suspended(other.id);
    await passTime(other.id);
    expect(await other.result()).toEqual({ answer: null });
    expect(await millrace.jobs.checkpoints(other.id)).toMatchObject([{ name: 'approval', value: { timed_out: true } }]);
  });

  it('lets steps that run beside a wait end first', async () => {
    const beside = freshTask('beside');
    let ran = 0;
    start([
      beside.handle(async (_, ctx) => {
        const slow = ctx.step('slow', async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return ++ran;
        });
        const [n] = await Promise.all([slow, ctx.sleep('an hour', '1h')]);
        return { n };
      }),
    ]);
    const job = await millrace.enqueue(beside);
    await suspended(job.id);
    expect(await millrace.jobs.checkpoints(job.id)).toMatchObject([{ name: 'slow', value: 1 }]);
    await millrace.jobs.runNow(job.id);
    expect(await job.result()).toEqual({ n: 1 });
    expect(ran).toBe(1);
  });

  it.each<[string, (ctx: JobContext) => Promise<unknown>, RegExp]>([
    [
      'a name twice',
      async (ctx) => [await ctx.step('x', () => 1), await ctx.step('x', () => 2)],
      /"x" is used twice in one attempt: first at .*durable\.test.* then at .*durable\.test/,
    ],
    [
      'a step that is too large',
      (ctx) => ctx.step('big', () => 'x'.repeat(5_000_000)),
      /the step "big" cannot be kept/,
    ],
  ])('fails for good: %s', async (_name, run, message) => {
    const odd = freshTask('odd');
    start([odd.handle(async (_, ctx) => void (await run(ctx)))]);
    const job = await millrace.enqueue(odd);
    await expect(job.result()).rejects.toMatchObject({ job: { errorMessage: expect.stringMatching(message) } });
  });

  it('is told when it swallows a suspension, and when it waits for two things at once', async () => {
    const swallow = freshTask('swallow', { retries: { max: 0 } });
    start([
      swallow.handle(async (_, ctx) => {
        await ctx.sleep('an hour', '1h').catch(() => undefined);
      }),
    ]);
    const job = await millrace.enqueue(swallow);
    await expect(job.result()).rejects.toMatchObject({ job: { errorMessage: expect.stringContaining('Suspended') } });

    const both = freshTask('both');
    start([
      both.handle(async (_, ctx) => {
        await Promise.all([ctx.sleep('one', '1h'), ctx.waitFor('two', { timeout: '1h' })]);
      }),
    ]);
    const other = await millrace.enqueue(both);
    await expect(other.result()).rejects.toMatchObject({
      job: { errorMessage: expect.stringContaining('a handler has one wait at a time') },
    });
  });

  it('numbers what it enqueues within each step, so that a step that is skipped shifts nothing', async () => {
    const [child, parent] = [freshTask('child'), freshTask('parent', { retries: { delay: '0s', jitter: 0 } })];
    start(
      [
        parent.handle(async (_, ctx) => {
          await ctx.step('grüße 1', async () => void (await ctx.enqueue(child, { n: 1 })));
          await ctx.enqueue(child, { n: 2 });
          await ctx.step('second', async () => {
            await ctx.enqueue(child, { n: 3 });
            await ctx.enqueue(child, { n: 4 });
            if (ctx.job.attempt === 1) throw new Error('after the fact');
          });
          await ctx.enqueue(child, { n: 5 });
        }),
      ],
      { client: millrace },
    );
    await (await millrace.enqueue(parent)).result();
    const made: unknown[] = [];
    for await (const job of millrace.jobs.list({ queue: child.queue })) made.push(job.payload.n);
    expect(made.sort()).toEqual([1, 2, 3, 4, 5]);
  });

  it('tries a step again within the attempt, and never one that has returned', async () => {
    const shaky = freshTask('shaky', { retries: { max: 0 } });
    let [tries, stores] = [0, 0];
    const losing: typeof fetch = (input, init) => {
      if (!(input as string).endsWith('/checkpoints') || stores++ > 0) return fetch(input, init);
      return Promise.resolve(new Response('{"error":"not now","code":"unavailable"}', { status: 503 }));
    };
    start(
      [
        shaky.handle(async (_, ctx) => ({
          tries: await ctx.step(
            'shaky',
            () => {
              if (++tries < 3) throw new Error(`try ${tries}`);
              return tries;
            },
            { retries: { max: 5 } },
          ),
        })),
      ],
      { fetch: losing },
    );
    const job = await millrace.enqueue(shaky);
    expect(await job.result()).toEqual({ tries: 3 });
    expect([tries, stores]).toEqual([3, 2]);
  });

  it('stops without a word when its lease is gone', async () => {
    const lost = freshTask('lost', { retries: { max: 0 } });
    let second = 0;
    const refusing: typeof fetch = (input, init) =>
      (input as string).endsWith('/checkpoints')
        ? Promise.resolve(new Response('{"error":"gone","code":"lease_lost"}', { status: 409 }))
        : fetch(input, init);
    const { events, calls } = start(
      [
        lost.handle(async (_, ctx) => {
          await ctx.step('one', () => 1);
          second++;
        }),
      ],
      { fetch: refusing },
    );
    const job = await millrace.enqueue(lost);
    await until(() => events.some(({ type: kind }) => kind === 'lease_lost') || 'no event');
    expect(second).toBe(0);
    expect(calls.filter((path) => /reports|fail|complete/.test(path))).toEqual([]);
    expect((await job.get()).status).toBe('running');
  });

  it('says so on a server that knows no durable jobs, and keeps the job', async () => {
    const old = freshTask('old', { retries: { max: 5, delay: '1h', jitter: 0 } });
    const plain: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!(input as string).endsWith('/whoami')) return response;
      return Response.json({ ...((await response.json()) as object), features: ['reports', 'heartbeats', 'release'] });
    };
    start([old.handle(async (_, ctx) => ({ n: await ctx.step('n', () => 1) }))], { fetch: plain });
    const job = await millrace.enqueue(old);
    const record = await until(async () => {
      const found = await job.get();
      return found.status === 'retrying' ? found : `it is ${found.status}`;
    });
    expect(record.errorMessage).toContain('older than the SDK');
  });
});

describe('a durable handler under test', () => {
  const order = freshTask('order');
  const handler = async (_: object, ctx: JobContext) => {
    const charge = await ctx.step('charge', () => 'ch_1');
    const answer = await ctx.waitFor<{ ok: boolean }>('approval', { timeout: '3d' });
    await ctx.sleep('grace', '1h');
    if (answer === null) throw new NonRetryableError('nobody answered');
    return { charge, ok: answer.ok };
  };

  it('runs without a server: sleeps are over at once, waits get what the test says', async () => {
    const { result } = await runTask(order, handler, {}, { signals: { approval: { ok: true } } });
    expect(result).toEqual({ charge: 'ch_1', ok: true });
    const stored = { charge: 'ch_2' };
    const again = await runTask(order, handler, {}, { checkpoints: stored, signals: { approval: { ok: false } } });
    expect(again.result).toEqual({ charge: 'ch_2', ok: false });
    await expect(runTask(order, handler, {})).rejects.toThrow('nobody answered');
  });

  it('runs on the fake server, by its clock', async () => {
    const fake = new FakeServer();
    const millrace = new Millrace({ ...fake.options, logger: silentLogger });
    const job = await millrace.enqueue(order);
    const handlers = [order.handle(handler)];
    await fake.drain(handlers);
    expect((await job.get()).waitingFor).toMatchObject({ signal: 'approval' });
    await millrace.signals.sendToJob(job.id, 'approval', { ok: true });
    await fake.drain(handlers);
    expect((await job.get()).waitingFor).toMatchObject({ checkpoint: 'grace', signal: null });
    await fake.advance('1h');
    await fake.drain(handlers);
    expect(await job.result()).toEqual({ charge: 'ch_1', ok: true });

    const late = await millrace.enqueue(order);
    await fake.drain(handlers);
    await fake.advance('3d');
    await fake.drain(handlers);
    await fake.advance('1h');
    await fake.drain(handlers);
    expect(await late.get()).toMatchObject({ status: 'failed', errorMessage: 'nobody answered' });
  });
});
