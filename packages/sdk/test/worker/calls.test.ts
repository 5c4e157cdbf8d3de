import { ChildFailedError, Millrace, silentLogger, type Job, type JobContext } from '@millrace/sdk';
import { FakeServer, runTask } from '@millrace/sdk/testing';
import { describe, expect, it } from 'vitest';
import { freshTask, until, useWorkerKit } from '../support/worker-kit.js';

async function childrenOf(millrace: Millrace, parentJobId: string): Promise<Job[]> {
  const found: Job[] = [];
  for await (const job of millrace.jobs.list({ parentJobId })) found.push(job);
  return found;
}

describe('a handler that calls other tasks', async () => {
  const { millrace, start } = await useWorkerKit();

  it('gets their results, creates each of them once, and holds no worker meanwhile', async () => {
    const [double, parent] = [freshTask('double'), freshTask('parent')];
    let starts = 0;
    start([double.handle(({ n }: { n?: number }) => ({ n: 2 * (n ?? 0) }))]);
    const { events } = start([
      parent.handle(async (_, ctx) => {
        starts++;
        const one = await ctx.call('one', double, { n: 4 });
        const all = await ctx.callAll('all', [double.with({ n: 1 }), double.with({ n: 2 }, { priority: 5 })]);
        return { one, all };
      }),
    ]);
    const job = await millrace.enqueue(parent);
    expect(await job.result()).toEqual({ one: { n: 8 }, all: [{ n: 2 }, { n: 4 }] });
    expect(starts).toBe(3);
    await until(() => events.filter(({ type }) => type === 'suspended').length === 2 || 'not told of both');
    const children = await childrenOf(millrace, job.id);
    expect(children.map(({ task, parentJobId }) => [task, parentJobId])).toEqual(Array(3).fill(['double', job.id]));
  });

  it('fails for good if a child does, unless it catches that', async () => {
    const [bad, parent] = [freshTask('bad', { retries: { max: 0 } }), freshTask('parent')];
    start([
      bad.handle(({ why }: { why?: string }) => {
        if (why !== undefined) throw new Error(why);
      }),
    ]);
    start([
      parent.handle(async ({ caught }: { caught?: boolean }, ctx) => {
        if (caught !== true) await ctx.call('alone', bad, { why: 'broken' });
        try {
          await ctx.callAll('many', [bad.with({}), bad.with({ why: 'first' }), bad.with({ why: 'second' })]);
        } catch (error) {
          if (!(error instanceof ChildFailedError)) throw error;
          return { message: error.message, errors: error.children.map((child) => child.error) };
        }
        return {};
      }),
    ]);
    const job = await millrace.enqueue(parent);
    await expect(job.result()).rejects.toThrow('"alone" failed: broken');
    expect(await job.get()).toMatchObject({ retryCount: 0, status: 'failed' });
    const other = await millrace.enqueue(parent, { caught: true });
    expect(await other.result()).toEqual({
      message: '2 of 3 of "many" did not complete; the first: first',
      errors: ['first', 'second'],
    });
  });

  it('has one wait at a time, and is told of callAll', async () => {
    const [child, parent] = [freshTask('child'), freshTask('parent', { retries: { max: 0 } })];
    start([
      parent.handle(async (_, ctx) => {
        await Promise.all([ctx.call('a', child), ctx.call('b', child)]);
      }),
    ]);
    const job = await millrace.enqueue(parent);
    await expect(job.result()).rejects.toThrow(/waits for "[ab]" already.*ctx\.callAll/);
  });

  it('is refused a name twice, and what the server refuses', async () => {
    const [child, parent] = [freshTask('child'), freshTask('parent')];
    start([
      parent.handle(async ({ long }: { long?: boolean }, ctx) => {
        if (long === true) await ctx.call('x'.repeat(201), child);
        await ctx.call('all 1', child, {}, { timeout: '0s' }).catch((error: unknown) => {
          if (!(error instanceof ChildFailedError)) throw error;
        });
        await ctx.callAll('all', [child.with({})]);
      }),
    ]);
    const twice = await millrace.enqueue(parent);
    await expect(twice.result()).rejects.toThrow(/"all 1" is used twice/);
    const long = await millrace.enqueue(parent, { long: true });
    await until(async () => {
      const { status } = await long.get();
      return status === 'failed' || `it is ${status}`;
    });
  });
});

describe('calls under test', () => {
  const [thumb, album] = [freshTask('thumb'), freshTask('album')];
  const handler = async (_: object, ctx: JobContext) => {
    const cover = await ctx.call('cover', thumb, {}, { timeout: '1h' });
    const pages = await ctx.callAll('pages', [thumb.with({}), thumb.with({})]);
    return { cover, pages };
  };

  it('get what the test says, without a server', async () => {
    const calls = { cover: { n: 1 }, pages: [{ n: 2 }, { n: 3 }] };
    const { result } = await runTask(album, handler, {}, { calls });
    expect(result).toEqual({ cover: { n: 1 }, pages: [{ n: 2 }, { n: 3 }] });
    await expect(runTask(album, handler, {})).rejects.toThrow('"cover" did not end in time');
    const failing = { ...calls, pages: [{ n: 2 }, new Error('torn')] };
    await expect(runTask(album, handler, {}, { calls: failing })).rejects.toThrow('torn');
  });

  it('run on the fake server, by its clock', async () => {
    const fake = new FakeServer();
    const millrace = new Millrace({ ...fake.options, logger: silentLogger });
    const job = await millrace.enqueue(album);
    const parent = [album.handle(handler)];
    await fake.drain(parent);
    expect((await job.get()).waitingFor).toMatchObject({ children: { total: 1, unfinished: 1 } });
    let n = 0;
    await fake.drain([...parent, thumb.handle(() => ({ n: ++n }))]);
    expect(await job.result()).toEqual({ cover: { n: 1 }, pages: [{ n: 2 }, { n: 3 }] });
    expect(await childrenOf(millrace, job.id)).toHaveLength(3);

    const late = await millrace.enqueue(album);
    await fake.drain(parent);
    await fake.advance('1h');
    await fake.drain(parent);
    expect(await late.get()).toMatchObject({ status: 'failed', errorMessage: '"cover" did not end in time' });

    const cancelled = await millrace.enqueue(album);
    await fake.drain(parent);
    await cancelled.cancel();
    const [child] = await childrenOf(millrace, cancelled.id);
    expect(child?.status).toBe('cancelled');
  });
});
