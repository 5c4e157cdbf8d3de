import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { expireLease, SWEEP_OFTEN } from '../engine/kit.js';
import { controlClock } from '../support/clock.js';
import { cloneDatabase } from '../support/database.js';
import { startTestServer, useTestServer, type TestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { canRun, startWorker, WORKER_NAMES, WORKERS, type Finally, type WorkerName } from './workers.js';

/** Valid JSON with line breaks, and with everything that a careless parser would mistake for the envelope. */
const ODD_PAYLOAD = [
  '{ "id" : "x",',
  '"lease_token":"00000000-0000-4000-8000-000000000000",',
  '"quote":"\\",\\"lease_token\\":\\"z\\"}]}",',
  '"jobs":[{"job":{}}], "ü":"\\u0000😀",',
  '"name" : "Ada" }',
].join('\r\n');

/** They heartbeat at its half. It runs out when a test says so, not while this machine is held up. */
const SHORT_LEASE_SECS = 4;

/** The workers that docs/worker-protocol.md shows, working for the real service. */
describe.concurrent('the example workers', async () => {
  const server = await useTestServer({ config: { mode: 'api' } });
  const { a } = server;

  /** A server whose clock stands still but for what the test lets pass. */
  async function timeless(finallyDo: Finally) {
    const database = await cloneDatabase();
    const clock = await controlClock(database);
    await clock.freeze();
    const own = await startTestServer({ database, config: { mode: 'api' }, intervals: SWEEP_OFTEN });
    finallyDo(async () => {
      await own.stop();
      await database.drop();
    });
    return { own, database, clock };
  }

  async function create(
    queue: string,
    task: string,
    payload: unknown,
    config: object = {},
    client = a,
  ): Promise<string> {
    const { status, body } = await client.post('/api/v1/jobs', {
      task_name: task,
      payload,
      config: { queue, retry_delay_secs: 3600, ...config },
    });
    expect(status).toBe(201);
    return body.job_id as string;
  }

  const read = async (id: string, client = a): Promise<Record<string, unknown>> =>
    (await client.get(`/api/v1/jobs/${id}`)).body;

  const inState = (id: string, status: string, client = a): Promise<Record<string, unknown>> =>
    until(
      async () => {
        const job = await read(id, client);
        return job.status === status ? job : `it is ${String(job.status)}: ${String(job.error_message)}`;
      },
      { what: `the job to be ${status}` },
    );

  /** A new queue and a worker on it. */
  function begin(name: WorkerName, finallyDo: Finally, leaseSecs?: number, { url }: TestServer = server) {
    const queue = `${name} ${randomUUID()}`;
    const encoded = name === 'worker.sh' ? encodeURIComponent(queue) : queue;
    const options = { url, queue: encoded, ...(leaseSecs && { leaseSecs }) };
    const start = () => startWorker(name, options, finallyDo);
    return { queue, start };
  }

  describe.each(WORKER_NAMES)('%s', (name) => {
    const it = test.runIf(canRun(name));

    it('completes a job, whatever else its payload contains', async ({ onTestFinished }) => {
      const { queue, start } = begin(name, onTestFinished);
      const body = `{"task_name":"greet","payload":${ODD_PAYLOAD},"config":{"queue":${JSON.stringify(queue)}}}`;
      const created = await a.post('/api/v1/jobs', body);
      expect(created.status).toBe(201);
      start();
      const job = await inState(created.body.job_id as string, 'completed');
      expect(job).toMatchObject({ result: { greeting: 'Hello, Ada' }, delivery_count: 1 });
    });

    it('works through a queue in order', async ({ onTestFinished }) => {
      const { queue, start } = begin(name, onTestFinished);
      const low = await create(queue, 'greet', { name: 'last' }, { priority: -1 });
      const high = await create(queue, 'greet', { name: 'first' }, { priority: 1 });
      start();
      const [last, first] = [await inState(low, 'completed'), await inState(high, 'completed')];
      expect(Date.parse(first.started_at as string)).toBeLessThan(Date.parse(last.started_at as string));
    });

    it('reports a retryable failure', async ({ onTestFinished }) => {
      const { queue, start } = begin(name, onTestFinished);
      // The command of the one does not know the task; the handler of the other misses a field.
      const [task, message] = name === 'worker.sh' ? ['unheard-of', 'unheard-of'] : ['wait', 'seconds'];
      const id = await create(queue, task, {});
      start();
      const job = await inState(id, 'retrying');
      expect(job).toMatchObject({ retry_count: 1, error_message: expect.stringContaining(message) });
    });

    it('reports a permanent failure', async ({ onTestFinished }) => {
      const { queue, start } = begin(name, onTestFinished);
      const id = await create(queue, 'greet', {});
      start();
      const job = await inState(id, 'failed');
      expect(job).toMatchObject({ retry_count: 0, error_message: expect.stringContaining('the payload has no name') });
      const { body } = await a.get('/api/v1/dlq');
      expect(body.dead_letters).toContainEqual(expect.objectContaining({ job_id: id, reason: 'non_retryable' }));
    });

    it('stops a job that is cancelled and takes the next one', async ({ onTestFinished }) => {
      const { own } = await timeless(onTestFinished);
      const { queue, start } = begin(name, onTestFinished, SHORT_LEASE_SECS, own);
      const long = await create(queue, 'wait', { seconds: 600 }, {}, own.a);
      const next = await create(queue, 'greet', { name: 'Next' }, {}, own.a);
      start();
      await inState(long, 'running', own.a);
      expect((await own.a.post(`/api/v1/jobs/${long}/cancel`)).status).toBe(204);
      await inState(next, 'completed', own.a);
      expect(await read(long, own.a)).toMatchObject({ status: 'cancelled', result: null, error_message: null });
    });

    it('finishes its current job when told to stop, and takes no other', async ({ onTestFinished }) => {
      const { queue, start } = begin(name, onTestFinished);
      const long = await create(queue, 'wait', { seconds: 10 });
      const running = start();
      await inState(long, 'running');
      running.signal('SIGTERM');
      // Only now: told late, it would have taken this one.
      const next = await create(queue, 'greet', { name: 'Next' });
      expect(await running.exited).toBe(0);
      expect(await read(long)).toMatchObject({ status: 'completed', result: { waited: 10 } });
      expect(await read(next)).toMatchObject({ status: 'pending', delivery_count: 0 });
    });

    it('keeps the lease of a job that takes much longer than the lease', async ({ onTestFinished }) => {
      const { own, database, clock } = await timeless(onTestFinished);
      const { queue, start } = begin(name, onTestFinished, SHORT_LEASE_SECS, own);
      const id = await create(queue, 'wait', { seconds: 600 }, {}, own.a);
      start();
      await inState(id, 'running', own.a);
      const whole = `SELECT FROM millrace.leases WHERE id = $1
        AND locked_until = test_clock.now() + ${SHORT_LEASE_SECS} * interval '1 second'`;
      for (let passed = 0; passed < 3 * SHORT_LEASE_SECS; passed += SHORT_LEASE_SECS - 1) {
        await clock.advance(SHORT_LEASE_SECS - 1);
        await until(async () => (await database.query(whole, [id])).length === 1, { what: 'a heartbeat' });
      }
      // A sweep takes the lease of a worker that sends none, and not this one.
      const lost = await create('nobody', 'wait', {}, { max_retries: 0 }, own.a);
      await own.worker.post('/api/v1/queues/nobody/lease');
      await expireLease(database, lost);
      await inState(lost, 'failed', own.a);
      expect(await read(id, own.a)).toMatchObject({ status: 'running', delivery_count: 1, retry_count: 0 });
    });
  });

  test.runIf(canRun('worker.py'))(
    'worker.py reports nothing on a job that it lost while it was stopped',
    async ({ onTestFinished }) => {
      const { own, clock } = await timeless(onTestFinished);
      const { a, worker } = own;
      const { queue, start } = begin('worker.py', onTestFinished, SHORT_LEASE_SECS, own);
      const id = await create(queue, 'wait', { seconds: 600 }, { retry_delay_secs: 0 }, a);
      const zombie = start();
      await inState(id, 'running', a);
      zombie.signal('SIGSTOP');
      // Again and again: a heartbeat may have been under way.
      const isLost = async (): Promise<boolean> => {
        await clock.advance(SHORT_LEASE_SECS + 1);
        return (await read(id, a)).status === 'retrying';
      };
      await until(isLost, { what: 'the job to be lost' });
      const leased = await worker.post(`/api/v1/queues/${encodeURIComponent(queue)}/lease`, { lease_secs: 60 });
      expect(leased.body.jobs).toHaveLength(1);
      zombie.signal('SIGCONT');
      await until(async () => (await staleCalls(own, 'heartbeat')) > 0, { what: 'the zombie to learn of its loss' });

      const [{ lease_token }] = leased.body.jobs as [{ lease_token: string }];
      const settled = await worker.post(`/api/v1/jobs/${id}/complete`, { lease_token, result: { by: 'the other' } });
      expect(settled.status).toBe(204);
      zombie.signal('SIGTERM');
      expect(await zombie.exited).toBe(0);
      expect(await read(id, a)).toMatchObject({ delivery_count: 2, result: { by: 'the other' } });
      expect(await staleCalls(own, 'complete')).toBe(0);
    },
  );

  test.each(WORKER_NAMES.filter(canRun))('%s without arguments shows how to call it', (name) => {
    const [program, file] = WORKERS[name];
    const { status, stderr } = spawnSync(program, [file], { env: { PATH: process.env.PATH }, encoding: 'utf8' });
    expect(status).toBeGreaterThan(0);
    expect(stderr).toMatch(/MILLRACE_WORKER_TOKEN=\.\.\. worker\.\w+ QUEUE/);
    expect(stderr).not.toMatch(/Traceback|not found/);
  });

  test('worker.py has the 43 lines of code that its description claims', async () => {
    const lines = (await readFile(WORKERS['worker.py'][1], 'utf8')).split('\n');
    expect(lines.filter((line) => !/^\s*(#|$)/.test(line))).toHaveLength(43);
    expect(lines.filter((line) => line.length > 110)).toEqual([]);
  });

  async function staleCalls({ metricsUrl }: TestServer, operation: string): Promise<number> {
    const page = await (await fetch(`${metricsUrl}/metrics`)).text();
    return Number(
      new RegExp(`^millrace_stale_tokens_total\\{operation="${operation}"\\} (\\d+)`, 'm').exec(page)?.[1] ?? 0,
    );
  }
});
