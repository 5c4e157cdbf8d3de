import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { useTestServer } from '../support/server.js';
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

/** They heartbeat at its half, dozens of processes side by side, and have the other half to be late. */
const SHORT_LEASE_SECS = 8;

/** The workers that docs/worker-protocol.md shows, working for the real service. */
describe.concurrent('the example workers', async () => {
  const server = await useTestServer({ config: { mode: 'api' } });
  const { a, worker } = server;

  async function create(queue: string, task: string, payload: unknown, config: object = {}): Promise<string> {
    const { status, body } = await a.post('/api/v1/jobs', {
      task_name: task,
      payload,
      config: { queue, retry_delay_secs: 3600, ...config },
    });
    expect(status).toBe(201);
    return body.job_id as string;
  }

  const read = async (id: string): Promise<Record<string, unknown>> => (await a.get(`/api/v1/jobs/${id}`)).body;

  const inState = (id: string, status: string): Promise<Record<string, unknown>> =>
    until(
      async () => {
        const job = await read(id);
        return job.status === status ? job : `it is ${String(job.status)}: ${String(job.error_message)}`;
      },
      { what: `the job to be ${status}` },
    );

  /** A new queue and a worker on it. */
  function begin(name: WorkerName, finallyDo: Finally, leaseSecs?: number) {
    const queue = `${name} ${randomUUID()}`;
    const encoded = name === 'worker.sh' ? encodeURIComponent(queue) : queue;
    const options = { url: server.url, queue: encoded, ...(leaseSecs && { leaseSecs }) };
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
      const { queue, start } = begin(name, onTestFinished, SHORT_LEASE_SECS);
      const long = await create(queue, 'wait', { seconds: 600 });
      const next = await create(queue, 'greet', { name: 'Next' });
      start();
      await inState(long, 'running');
      expect((await a.post(`/api/v1/jobs/${long}/cancel`)).status).toBe(204);
      await inState(next, 'completed');
      expect(await read(long)).toMatchObject({ status: 'cancelled', result: null, error_message: null });
    });

    it('finishes its current job when told to stop, and takes no other', async ({ onTestFinished }) => {
      const { queue, start } = begin(name, onTestFinished);
      // Long enough to be told in time: that of the next test takes longer still.
      const long = await create(queue, 'wait', { seconds: 10 });
      const next = await create(queue, 'greet', { name: 'Next' });
      const running = start();
      await inState(long, 'running');
      running.signal('SIGTERM');
      expect(await running.exited).toBe(0);
      expect(await read(long)).toMatchObject({ status: 'completed', result: { waited: 10 } });
      expect(await read(next)).toMatchObject({ status: 'pending', delivery_count: 0 });
    });

    it('keeps the lease of a job that takes much longer than the lease', async ({ onTestFinished }) => {
      const seconds = SHORT_LEASE_SECS + 6; // by then it would have expired and been swept, which happens every 5 s
      const { queue, start } = begin(name, onTestFinished, SHORT_LEASE_SECS);
      const id = await create(queue, 'wait', { seconds });
      start();
      const job = await inState(id, 'completed');
      expect(job).toMatchObject({ delivery_count: 1, retry_count: 0, result: { waited: seconds } });
    });
  });

  test.runIf(canRun('worker.py'))(
    'worker.py reports nothing on a job that it lost while it was stopped',
    async ({ onTestFinished }) => {
      const { queue, start } = begin('worker.py', onTestFinished, SHORT_LEASE_SECS);
      const id = await create(queue, 'wait', { seconds: 600 }, { retry_delay_secs: 0 });
      const zombie = start();
      await inState(id, 'running');
      zombie.signal('SIGSTOP');
      await inState(id, 'retrying');
      const leased = await worker.post(`/api/v1/queues/${encodeURIComponent(queue)}/lease`, { lease_secs: 60 });
      expect(leased.body.jobs).toHaveLength(1);
      zombie.signal('SIGCONT');
      await until(async () => (await staleCalls('heartbeat')) > 0, { what: 'the zombie to learn of its loss' });

      const [{ lease_token }] = leased.body.jobs as [{ lease_token: string }];
      const settled = await worker.post(`/api/v1/jobs/${id}/complete`, { lease_token, result: { by: 'the other' } });
      expect(settled.status).toBe(204);
      zombie.signal('SIGTERM');
      expect(await zombie.exited).toBe(0);
      expect(await read(id)).toMatchObject({ delivery_count: 2, result: { by: 'the other' } });
      expect(await staleCalls('complete')).toBe(0);
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

  async function staleCalls(operation: string): Promise<number> {
    const page = await (await fetch(`${server.metricsUrl}/metrics`)).text();
    return Number(
      new RegExp(`^millrace_stale_tokens_total\\{operation="${operation}"\\} (\\d+)`, 'm').exec(page)?.[1] ?? 0,
    );
  }
});
