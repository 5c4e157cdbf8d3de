import { describe, expect, it } from 'vitest';
import { PermanentError, RawJson, type Handlers } from '../../src/index.js';
import { useTestServer } from '../support/server.js';
import * as kit from '../engine/kit.js';
import { createJob, getJob, lease, newQueue, waitFor } from '../engine/kit.js';

/** What the test looks at of its own handlers. */
const running = { now: 0, most: 0 };
const WORKERS = 3;
let allRun = (): void => undefined;
const allHaveRun = new Promise<void>((resolve) => (allRun = resolve));

const handlers: Handlers = {
  count: async (payload) => {
    running.most = Math.max(running.most, ++running.now);
    // The first ones wait for each other, and then each long enough for one too many to begin.
    if (running.now === WORKERS) allRun();
    await allHaveRun;
    await new Promise((resolve) => setTimeout(resolve, 20));
    running.now--;
    return { n: payload.n ?? null };
  },
  describe: (_payload, { job }) => ({ ...job, payloadText: job.payloadText.length }),
  nothing: () => undefined,
  list: () => [1, 2] as never,
  number: () => 5 as never,
  map: () => new Map([['a', 1]]) as never,
  raw: () => new RawJson('{"big":12345678901234567890}'),
  odd: () => ({ nul: '\0', half: '\ud800' }),
  throws_text: () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw 'just text\0';
  },
  throws_object: () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw { code: 7 };
  },
  throws_empty: () => {
    throw new TypeError();
  },
  gives_up: () => {
    throw new PermanentError('no use');
  },
};

describe('the in-process pool', async () => {
  const server = await useTestServer({ handlers, config: { workers: WORKERS }, intervals: kit.NEWS_ALONE });
  const { a, b, worker } = server;
  const run = (task_name: string, fields: object = {}): Promise<string> =>
    createJob(a, 'default', { task_name, ...fields });

  it('has four handlers of its own, and those it was given', async () => {
    const { body } = await a.get('/api/v1/tasks');
    expect(body.tasks).toEqual(expect.arrayContaining(['echo', 'fail', 'log', 'sleep']));
    expect(body.tasks).toEqual([...body.tasks].sort());
    expect(body.tasks).toEqual(expect.arrayContaining(Object.keys(handlers)));
  });

  it('echo returns its payload, to the letter', async () => {
    const payload = '{ "b":1.50, "a":[12345678901234567890],"b":"\\u00e9\\u0000" }';
    const { body } = await a.post('/api/v1/jobs', `{"task_name":"echo","payload":${payload}}`);
    const job = await waitFor(a, body.job_id, 'completed');
    expect((await a.get(`/api/v1/jobs/${job.id}`)).text).toContain(`"result":${payload},`);
    expect(job).toMatchObject({ delivery_count: 1, retry_count: 0, error_message: null });
    expect(kit.comparable(job.completed_at) >= kit.comparable(job.started_at)).toBe(true);
    expect(await waitFor(b, await createJob(b, 'default', { task_name: 'echo' }), 'completed')).toMatchObject({
      result: {},
    });
  });

  it('log writes its payload to the log', async () => {
    const id = await run('log', { payload: { hello: 'log' } });
    expect(await waitFor(a, id, 'completed')).toMatchObject({ result: {} });
    expect(server.log().filter((line) => line.job_id === id)).toMatchObject([{ payload: { hello: 'log' } }]);
  });

  it.each([
    [{}, 0],
    [{ duration: 0.05 }, 0.05],
    [{ seconds: 0.01 }, 0.01],
    [{ duration_secs: 0 }, 0],
    [{ duration_ms: 30 }, 0.03],
  ])('sleep sleeps %j', async (payload, slept_for) => {
    const job = await waitFor(a, await run('sleep', { payload }), 'completed');
    expect(job.result).toEqual({ slept_for });
    expect(Date.parse(job.completed_at!) - Date.parse(job.started_at!)).toBeGreaterThanOrEqual(slept_for * 1000 - 2);
  });

  it('fail fails, for good if asked', async () => {
    const config = { max_retries: 1, retry_delay_secs: 0 };
    const job = await waitFor(a, await run('fail', { config, payload: { message: 'my own' } }), 'failed');
    expect(job).toMatchObject({ error_message: 'my own', retry_count: 1, delivery_count: 2, result: null });
    expect(await kit.deadLettersOf(a, job.id)).toMatchObject([{ reason: 'max_attempts_exceeded' }]);
    const given = await waitFor(a, await run('fail', { payload: { permanent: true } }), 'failed');
    expect(given).toMatchObject({ error_message: 'intentional failure', retry_count: 0, delivery_count: 1 });
    expect(await kit.deadLettersOf(a, given.id)).toMatchObject([{ reason: 'non_retryable' }]);
  });

  it.each(['no such task', 'toString', '__proto__', 'constructor', 'Echo'])(
    'a task that nobody handles fails at once: %s',
    async (task_name) => {
      const job = await waitFor(a, await run(task_name, { config: { max_retries: 9 } }), 'failed');
      expect(job).toMatchObject({ retry_count: 0, delivery_count: 1 });
      expect(job.error_message).toContain(task_name);
      expect(await kit.deadLettersOf(a, job.id)).toMatchObject([
        { reason: 'handler_not_found', error_message: job.error_message },
      ]);
    },
  );

  it('leaves other queues to remote workers, whatever the task', async () => {
    const queue = newQueue();
    const ids = [await createJob(a, queue, { task_name: 'echo' }), await createJob(a, queue, { task_name: 'unknown' })];
    // Jobs of the default queue that were created afterwards have run, so these were not merely late.
    await waitFor(a, await run('echo'), 'completed');
    for (const id of ids) expect(await getJob(a, id)).toMatchObject({ status: 'pending', delivery_count: 0 });
    expect(await lease(worker, queue, { max_jobs: 9 })).toHaveLength(2);
  });

  it('runs as many at a time as it has workers', async () => {
    const reply = await a.post('/api/v1/jobs/batch', {
      jobs: Array.from({ length: 30 }, (_, n) => ({ task_name: 'count', payload: { n } })),
    });
    const done = await Promise.all((reply.body.job_ids as string[]).map((id) => waitFor(a, id, 'completed')));
    expect(done.map((job) => job.result)).toEqual(done.map((_, n) => ({ n })));
    expect(running).toEqual({ now: 0, most: WORKERS });
  });

  it('tells a handler what it runs', async () => {
    const id = await run('describe', { payload: { x: 1 } });
    const { result } = await waitFor(a, id, 'completed');
    expect(result).toEqual({
      id,
      task: 'describe',
      queue: 'default',
      tenant: 'tenant-a',
      attempt: 1,
      retryCount: 0,
      workflowId: null,
      workflowStep: null,
      payloadText: 7,
    });
  });

  it('stores what a handler returns: an object or nothing', async () => {
    expect((await waitFor(a, await run('nothing'), 'completed')).result).toEqual({});
    const raw = await run('raw');
    await waitFor(a, raw, 'completed');
    expect((await a.get(`/api/v1/jobs/${raw}`)).text).toContain('"result":{"big":12345678901234567890}');
    expect((await waitFor(a, await run('odd'), 'completed')).result).toEqual({ nul: '\0', half: '\ud800' });
    for (const task of ['list', 'number', 'map']) {
      const job = await waitFor(a, await run(task, { config: { max_retries: 0 } }), 'failed');
      expect(job.error_message).toContain('must return an object');
    }
  });

  it('stores what a handler throws', async () => {
    const config = { max_retries: 0 };
    const thrown = async (task: string) => (await waitFor(a, await run(task, { config }), 'failed')).error_message;
    expect(await thrown('throws_text')).toBe('just text\ufffd');
    expect(await thrown('throws_empty')).toBe('TypeError');
    expect(await thrown('throws_object')).toBe('{"code":7}');
    const job = await waitFor(a, await run('gives_up', { config: { max_retries: 5 } }), 'failed');
    expect(job).toMatchObject({ error_message: 'no use', delivery_count: 1 });
  });

  it('runs a scheduled job at its instant', async () => {
    const job = await waitFor(a, await run('echo', { run_at: kit.inSeconds(0.6) }), 'completed');
    expect(kit.comparable(job.started_at) >= kit.comparable(job.scheduled_at)).toBe(true);
  });

  it('a timeout ends the attempt, which then follows the retry policy', async () => {
    const config = { timeout: 1, max_retries: 1, retry_delay_secs: 0 };
    const job = await waitFor(a, await run('sleep', { config, payload: { seconds: 60 } }), 'failed');
    expect(job).toMatchObject({ retry_count: 1, delivery_count: 2, error_message: 'timed out after 1 s' });
    expect(Date.parse(job.completed_at!) - Date.parse(job.started_at!)).toBeGreaterThanOrEqual(990);
    expect(await kit.deadLettersOf(a, job.id)).toMatchObject([{ reason: 'max_attempts_exceeded' }]);
  });
});
