import { describe, expect, it } from 'vitest';
import { freshTask, until, useWorkerKit } from '../support/worker-kit.js';

/** Durable handlers whose code changes while their jobs wait, and those that have nothing to remember. */
describe('the code of a durable job', async () => {
  const { millrace, start } = await useWorkerKit();
  const suspended = (id: string) =>
    until(async () => {
      const job = await millrace.jobs.get(id);
      return job.waitingFor !== null ? job : `it is ${job.status}`;
    });

  it('may change while it waits: names that are gone are ignored, new ones run, the order does not matter', async () => {
    const task = freshTask('deployed');
    const ran: string[] = [];
    const step = (name: string) => () => {
      ran.push(name);
      return name;
    };
    const before = start([
      task.handle(async (_, ctx) => {
        await ctx.step('kept', step('kept, by the old code'));
        await ctx.step('gone', step('gone'));
        await ctx.waitFor('old wait', { signal: 'old', timeout: '1d' });
      }),
    ]);
    const job = await millrace.enqueue(task);
    await suspended(job.id);
    await before.worker.stop();
    start([
      task.handle(async (_, ctx) => {
        const fresh = await ctx.step('new', step('new'));
        const answer = await ctx.waitFor('new wait', { signal: 'new', timeout: '1d' });
        return { fresh, answer, kept: await ctx.step('kept', step('kept, by the new code')) };
      }),
    ]);
    // What the old code waits for wakes the job, and means nothing to the new code.
    await millrace.signals.sendToJob(job.id, 'old', 1);
    await until(async () => (await millrace.jobs.get(job.id)).waitingFor?.signal === 'new');
    await millrace.signals.sendToJob(job.id, 'new', 2);
    expect(await job.result()).toEqual({ fresh: 'new', answer: 2, kept: 'kept, by the old code' });
    expect(ran).toEqual(['kept, by the old code', 'gone', 'new']);
  });

  it('asks for what is stored only where there may be something, and somebody wants to know', async () => {
    const [plain, durable] = ['plain', 'durable'].map((name) =>
      freshTask(name, { retries: { max: 1, delay: '0s', jitter: 0 } }),
    ) as [ReturnType<typeof freshTask>, ReturnType<typeof freshTask>];
    const fails = (attempt: number): void => {
      if (attempt === 1) throw new Error('once');
    };
    const { calls } = start([
      plain.handle((_, { job }) => fails(job.attempt)),
      durable.handle(async (_, ctx) => {
        await ctx.step('first', () => 1);
        fails(ctx.job.attempt);
      }),
    ]);
    const asked = (id: string): number => calls.filter((path) => path === `/jobs/${id}/checkpoints`).length;
    const simple = await millrace.enqueue(plain);
    const other = await millrace.enqueue(durable);
    await Promise.all([simple.result(), other.result()]);
    expect(asked(simple.id)).toBe(0);
    // To store the step, and in the second attempt to read it.
    expect(asked(other.id)).toBe(2);
  });

  it('may sleep until an instant', async () => {
    const task = freshTask('dated');
    const at = new Date(Date.now() + 86_400_000);
    start([task.handle((_, ctx) => ctx.sleep('until then', at))]);
    const job = await millrace.enqueue(task);
    const { waitingFor } = await suspended(job.id);
    expect(new Date(waitingFor!.until)).toEqual(at);
    await millrace.jobs.runNow(job.id);
    await job.result();
    expect(await millrace.jobs.checkpoints(job.id)).toMatchObject([{ name: 'until then', value: null }]);
  });
});
