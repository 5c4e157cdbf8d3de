import { task, type } from '@millrace/sdk';
import { describe, expect, it } from 'vitest';
import { ChildFailedError, isSuspended, PermanentError, type Handlers } from '../../src/index.js';
import { createJob, getJob, NEWS_ALONE, newQueue } from '../engine/kit.js';
import { checkpointsOf } from '../engine/durable/kit.js';
import { useTestServer } from '../support/server.js';
import { until } from '../support/until.js';

/** What the handlers of this process have done, by job. */
const done: string[] = [];
const times = (what: string): number => done.filter((each) => each === what).length;

const input = type<{ n: number; fail?: boolean }>();
const double = task({ name: 'double', queue: 'default', input });
const strange = task({ name: 'double', queue: 'x'.repeat(300), input });
const elsewhere = task({ name: 'double', queue: newQueue(), input });

const handlers: Handlers = {
  double: ({ n, fail }) => {
    if (fail === true) throw new PermanentError('no use');
    return { doubled: Number(n) * 2 };
  },
  steps: async (_payload, ctx) => {
    const { id, attempt } = ctx.job;
    const first = await ctx.step('first', () => {
      done.push(`first ${id}`);
      return { at: new Date(0), nothing: undefined };
    });
    const key = await ctx.step('key', () => ctx.key('charge'));
    if (attempt === 1) throw new Error('after two steps');
    return { first: first as never, key, same: key === ctx.key('charge') };
  },
  sleeper: async (_payload, ctx) => {
    await ctx.sleep('short', '5ms');
    await ctx.sleep('long', '1h');
    return { attempts: ctx.job.attempt };
  },
  asker: async ({ timeout }, ctx) => {
    const answer = await ctx.waitFor<string>('approval', { timeout: timeout as '1s', ask: { text: 'May I?' } });
    return { answer };
  },
  parent: async ({ fail }, ctx) => {
    const one = await ctx.call('one', double, { n: 1 });
    try {
      const all = await ctx.callAll('all', [
        double.with({ n: 2 }),
        double.with({ n: 3, ...(fail === true && { fail }) }),
      ]);
      return { one: one as never, all: all as never };
    } catch (error) {
      if (isSuspended(error) || !(error instanceof ChildFailedError)) throw error;
      return { failed: error.children.map(({ name, error: why }) => `${name}: ${why}`) };
    }
  },
  enqueuer: async (_payload, ctx) => {
    const ids: string[] = [];
    const inStep = await ctx.step('inside', async () => (await ctx.enqueue(elsewhere, { n: 1 })).id);
    ids.push((await ctx.enqueue(elsewhere, { n: 2 })).id, (await ctx.enqueue(elsewhere, { n: 3 })).id);
    done.push(`${ctx.job.id} ${[inStep, ...ids].join(' ')}`);
    if (ctx.job.attempt === 1) throw new Error('after the fact');
    return {};
  },
  twice: async (_payload, ctx) => {
    await ctx.step('same', () => 1);
    await ctx.step('same', () => 2);
  },
  two_waits: async (_payload, ctx) => {
    await Promise.all([ctx.sleep('a', '1h'), ctx.waitFor('b', { timeout: '1h' })]);
  },
  swallows: async (_payload, ctx) => {
    await ctx.sleep('nap', '1h').catch(() => undefined);
    return {};
  },
  large: async (_payload, ctx) => void (await ctx.step('big', () => 'x'.repeat(3_000))),
  deep: async (_payload, ctx) => {
    await ctx.step('deep', () => {
      let value: unknown = 1;
      for (let n = 0; n < 1_100; n++) value = [value];
      return value;
    });
  },
  nameless: async (_payload, ctx) => void (await ctx.step('', () => 1)),
  strange: async (_payload, ctx) => void (await ctx.call('odd', strange, { n: 1 })),
  for_ever: async (_payload, ctx) => ctx.sleep('aeon', '500d'),
  stubborn: async (_payload, ctx) => {
    await ctx.step(
      'tries',
      () => {
        done.push(`tries ${ctx.job.id}`);
        if (times(`tries ${ctx.job.id}`) < 3) throw new Error('not yet');
      },
      { retries: { max: 5 } },
    );
    await ctx.step(
      'gives up',
      () => {
        done.push(`gives up ${ctx.job.id}`);
        throw new PermanentError('never');
      },
      { retries: { max: 5 } },
    );
  },
};

const server = await useTestServer({ handlers, config: { workers: 4, maxPayloadBytes: 2_500 }, intervals: NEWS_ALONE });
const { a, worker } = server;

const run = (task_name: string, payload: object = {}, config: object = {}): Promise<string> =>
  createJob(a, 'default', { task_name, payload, config: { backoff: 'fixed', retry_delay_secs: 0, ...config } });
const finished = (id: string): Promise<any> =>
  until(async () => {
    const job = await getJob(a, id);
    return ['completed', 'failed', 'cancelled'].includes(job.status) ? job : job.status;
  });
const waiting = (id: string): Promise<any> =>
  until(async () => {
    const job = await getJob(a, id);
    return job.waiting_for ? job : `${job.status} ${job.error_message}`;
  });

describe('a handler within the server', () => {
  it('runs each step once, and gets what it returned', async () => {
    const id = await run('steps');
    const job = await finished(id);
    expect(job.result).toEqual({ first: { at: '1970-01-01T00:00:00.000Z' }, key: `${id}:charge`, same: true });
    expect([times(`first ${id}`), job.delivery_count]).toEqual([1, 2]);
    expect(Object.keys(await checkpointsOf(a, id))).toEqual(['first', 'key']);
  });

  it('runs them once although many jobs were claimed together', async () => {
    const jobs = Array.from({ length: 50 }, () => ({
      task_name: 'steps',
      config: { backoff: 'fixed', retry_delay_secs: 0 },
    }));
    const { body } = await a.post('/api/v1/jobs/batch', { jobs });
    for (const id of body.job_ids as string[]) {
      expect((await finished(id)).status).toBe('completed');
      expect(times(`first ${id}`)).toBe(1);
    }
  });

  it('sleeps without a worker, and goes on when it is due', async () => {
    const id = await run('sleeper');
    expect(await waiting(id)).toMatchObject({ status: 'pending', retry_count: 0, waiting_for: { checkpoint: 'long' } });
    expect((await a.get(`/api/v1/jobs/${id}/why`)).body).toMatchObject({ reason: 'sleeping' });
    expect((await a.post(`/api/v1/jobs/${id}/run-now`)).status).toBe(204);
    expect(await finished(id)).toMatchObject({ status: 'completed', result: { attempts: 2 }, retry_count: 0 });
    const { attempts } = (await a.get(`/api/v1/jobs/${id}/attempts`)).body;
    expect(attempts.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['suspended', 'completed']);
  });

  it('waits for a signal, which wakes it, and gets null if none comes in time', async () => {
    const id = await run('asker', { timeout: '1h' });
    expect((await waiting(id)).waiting_for).toMatchObject({ ask: { text: 'May I?' } });
    expect((await a.post(`/api/v1/jobs/${id}/signals/approval`, { value: 'yes' })).body).toEqual({ delivered: true });
    expect((await finished(id)).result).toEqual({ answer: 'yes' });
    const late = await run('asker', { timeout: '1s' });
    expect((await finished(late)).result).toEqual({ answer: null });
  });

  it('calls others and waits for them, and learns which of them failed', async () => {
    const id = await run('parent');
    expect((await finished(id)).result).toEqual({ one: { doubled: 2 }, all: [{ doubled: 4 }, { doubled: 6 }] });
    const { jobs } = (await a.get(`/api/v1/jobs?parent_job_id=${id}`)).body;
    expect(jobs).toHaveLength(3);
    expect((await finished(await run('parent', { fail: true }))).result).toEqual({ failed: ['all 2: no use'] });
  });

  it('enqueues once per call, counted within its step', async () => {
    const id = await run('enqueuer');
    expect((await finished(id)).status).toBe('completed');
    const [first, second] = done.filter((each) => each.startsWith(`${id} `));
    expect(second).toBe(first);
    const ids = first!.split(' ').slice(1);
    expect(new Set(ids).size).toBe(3);
    const { jobs } = (await a.get(`/api/v1/jobs?queue=${elsewhere.queue}`)).body;
    expect(jobs.map((job: { id: string }) => job.id).sort()).toEqual(ids.sort());
  });

  it('goes on where it was in a replay that keeps its checkpoints', async () => {
    const id = await run('stubborn');
    expect((await finished(id)).status).toBe('failed');
    const [letter] = (await a.get(`/api/v1/dlq?job_id=${id}`)).body.dead_letters;
    const copy = (await a.post(`/api/v1/dlq/${letter.id}/replay`, { keep_checkpoints: true })).body.job_id as string;
    expect((await finished(copy)).status).toBe('failed');
    expect([times(`tries ${id}`), times(`tries ${copy}`), times(`gives up ${copy}`)]).toEqual([3, 0, 1]);
  });

  it('is a step of a workflow, which runs while it waits', async () => {
    const steps = [{ name: 'ask', task_name: 'asker', payload: { timeout: '1h' } }];
    const { workflow_id: flow } = (await a.post('/api/v1/workflows', { name: 'asking', steps })).body;
    const stepsOf = async (): Promise<any> => (await a.get(`/api/v1/workflows/${flow}/steps`)).body.steps[0];
    const { job_id: id } = await until(async () => ((await stepsOf()).job_id === null ? 'no job' : stepsOf()));
    await waiting(id as string);
    expect((await stepsOf()).status).toBe('running');
    await a.post(`/api/v1/jobs/${id}/signals/approval`, { value: 1 });
    await until(async () => (await a.get(`/api/v1/workflows/${flow}`)).body.status === 'completed');
  });

  it('can be cancelled while it waits, and is not woken any more', async () => {
    const id = await run('asker', { timeout: '1h' });
    await waiting(id);
    expect((await a.post(`/api/v1/jobs/${id}/cancel`)).status).toBe(204);
    expect((await a.post(`/api/v1/jobs/${id}/signals/approval`, {})).body.code).toBe('already_finished');
    expect((await getJob(a, id)).delivery_count).toBe(1);
  });

  it.each([
    ['a name used twice', 'twice', /"same" is used twice/],
    ['two waits at once', 'two_waits', /one wait at a time/],
    ['a step that cannot be kept', 'large', /the step "big" cannot be kept: value/],
    ['a step that is nested too deep', 'deep', /the step "deep" cannot be kept: value is nested/],
    ['a step without a name', 'nameless', /the step "" cannot be kept: name must not be empty/],
    ['a child that cannot be created', 'strange', /"odd" cannot be called: jobs\[0\].config.queue must have at most/],
    ['a wait of more than a year', 'for_ever', /cannot wait: delay_secs/],
  ])('fails for good, and says why: %s', async (_title, name, message) => {
    const job = await finished(await run(name, {}, { max_retries: 3 }));
    expect([job.status, job.retry_count]).toEqual(['failed', 0]);
    expect(job.error_message).toMatch(message);
  });

  it('is told that it swallowed a wait', async () => {
    const job = await finished(await run('swallows', {}, { max_retries: 1 }));
    expect([job.status, job.retry_count]).toEqual(['failed', 1]);
    expect(job.error_message).toMatch(/caught the error Suspended, which must pass/);
  });

  it('shares its checkpoints with workers elsewhere: they are those of the job', async () => {
    const id = await run('asker', { timeout: '1h' });
    await waiting(id);
    const held = await worker.post(`/api/v1/jobs/${id}/checkpoints`, {
      lease_token: '00000000-0000-4000-8000-000000000000',
      name: 'approval',
      value: 1,
    });
    expect(held.body.code).toBe('lease_lost');
    await a.post(`/api/v1/jobs/${id}/cancel`);
  });
});
