import { randomUUID } from 'node:crypto';
import type { Attempt, Attempts } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../support/client.js';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import {
  cancel,
  complete,
  createJob,
  expireLease,
  fail,
  getJob,
  leaseOne,
  newQueue,
  report,
  SWEEP_OFTEN,
  waitFor,
  type Leased,
} from '../kit.js';
import { step, workflowsOf } from '../workflows/kit.js';

const NAMED = 'NamedError';
const QUEUE = 'in-process';
const NO_ERROR: unknown = 'only a text';

class NamedError extends Error {
  override readonly name = NAMED;
}

const server = await useTestServer({
  config: { workers: 2, defaultQueue: QUEUE },
  intervals: SWEEP_OFTEN,
  handlers: {
    throws: () => {
      throw new NamedError('not today');
    },
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a handler may throw anything
    throwsText: () => Promise.reject(NO_ERROR),
    hangs: (_payload, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve({}))),
  },
});

const { a, b, worker, database } = server;
const log = (): readonly Record<string, unknown>[] => server.log();

const attemptsOf = async (id: string, client: Client = a): Promise<Attempts> => {
  const reply = await client.get(`/api/v1/jobs/${id}/attempts`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body as Attempts;
};

const outcomesOf = (attempts: readonly Attempt[]): string[] =>
  attempts.map(({ number, outcome }) => `${number} ${outcome}`);

const leaseAs = async (queue: string, worker_id: string): Promise<Leased> => {
  const reply = await worker.post(`/api/v1/queues/${queue}/lease`, { worker_id, lease_secs: 3_600 });
  expect(reply.body.jobs).toHaveLength(1);
  return reply.body.jobs[0] as Leased;
};

const retried = { retry_delay_secs: 0, max_retries: 1000, jitter_factor: 0 };

describe('the attempts of a job', () => {
  it('are none before the first delivery', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const none = { first_due_at: (await getJob(a, id)).created_at, attempts: [], omitted: 0 };
    expect(await attemptsOf(id)).toEqual(none);
    await cancel(a, id);
    expect(await attemptsOf(id)).toEqual(none);
  });

  it('tell when it was first due, whatever retries have made of that', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { delay_secs: 3600, config: retried });
    const due = (await getJob(a, id)).scheduled_at;
    expect((await attemptsOf(id)).first_due_at).toBe(due);
    expect((await a.post(`/api/v1/jobs/${id}/run-now`)).status).toBe(204);
    const now = (await getJob(a, id)).scheduled_at;
    for (const name of ['w-1', 'w-2']) await fail(worker, await leaseAs(queue, name));
    expect((await attemptsOf(id)).first_due_at).toBe(now);
    expect((await getJob(a, id)).scheduled_at).not.toBe(now);
    const past = await createJob(a, queue, { run_at: '2020-01-01T00:00:00Z' });
    expect((await attemptsOf(past)).first_due_at).toBe((await getJob(a, past)).created_at);
  });

  it('tell how each ended, who ran it, and what it reported', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { ...retried, retry_delay_secs: 7 } });
    const first = await leaseAs(queue, 'worker-1');
    expect(await attemptsOf(id)).toEqual({
      first_due_at: first.job.created_at,
      attempts: [
        {
          number: 1,
          outcome: 'running',
          worker_id: 'worker-1',
          started_at: first.job.started_at,
          ended_at: null,
          error_message: null,
          error_details: null,
          next_retry_at: null,
        },
      ],
      omitted: 0,
    });
    const details = { name: 'SmtpError', stack: 'SmtpError: refused\n  at send' };
    await fail(worker, first, { error: 'refused', details, retry_after_secs: 0 });
    const waiting = await getJob(a, id);
    await report(worker, 'release', await leaseAs(queue, 'worker-2'));
    const third = await leaseAs(queue, 'worker-3');
    await complete(worker, third);
    const { attempts, omitted } = await attemptsOf(id);
    expect(omitted).toBe(0);
    expect(outcomesOf(attempts)).toEqual(['1 failed', '2 released', '3 completed']);
    expect(attempts[0]).toMatchObject({
      worker_id: 'worker-1',
      started_at: first.job.started_at,
      error_message: 'refused',
      error_details: details,
      next_retry_at: waiting.next_retry_at,
    });
    expect(attempts[1]).toMatchObject({ worker_id: 'worker-2', error_message: null, error_details: null });
    const { started_at, completed_at } = await getJob(a, id);
    expect(attempts[2]).toMatchObject({
      started_at,
      ended_at: completed_at,
      worker_id: 'worker-3',
      error_message: null,
    });
  });

  it('end with the cancellation of a running one', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    await leaseAs(queue, 'worker-1');
    await cancel(a, id);
    expect((await attemptsOf(id)).attempts).toMatchObject([
      { number: 1, outcome: 'cancelled', worker_id: 'worker-1', error_message: null, next_retry_at: null },
    ]);
  });

  it('tell of a lease that expired', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { max_retries: 0 } });
    await worker.post(`/api/v1/queues/${queue}/lease`, { worker_id: 'gone' });
    await expireLease(database, id);
    await waitFor(a, id, 'failed');
    expect((await attemptsOf(id)).attempts).toMatchObject([
      { number: 1, outcome: 'lease_expired', worker_id: 'gone', error_message: 'lease expired' },
    ]);
  });

  it('keep the first twenty and the last twenty, and say how many are missing', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: retried });
    for (let number = 1; number <= 47; number++) {
      const leased = await leaseOne(worker, queue);
      await fail(worker, leased, { error: `attempt ${number}` });
    }
    await leaseOne(worker, queue);
    const { attempts, omitted } = await attemptsOf(id);
    const numbers = [...Array.from({ length: 20 }, (_, n) => n + 1), ...Array.from({ length: 20 }, (_, n) => n + 28)];
    expect(outcomesOf(attempts)).toEqual([...numbers.map((n) => `${n} failed`), '48 running']);
    expect(attempts.map(({ error_message }) => error_message)).toEqual([...numbers.map((n) => `attempt ${n}`), null]);
    expect(omitted).toBe(7);
  });

  it('never refuse details for what they hold or how long they are', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: retried });
    const long = '\u0001"é😀\n'.repeat(100_000);
    const rounds = [
      { details: { name: 'N\0\ud800', stack: 'a\0b' } },
      { details: { name: long, stack: long }, error: 'e'.repeat(100_000) },
      { details: null },
      { details: { other: 1 } },
    ];
    for (const fields of rounds) {
      const reply = await fail(worker, await leaseOne(worker, queue), fields);
      expect(reply.status, reply.text).toBe(204);
    }
    const { attempts } = await attemptsOf(id);
    expect(attempts[0]!.error_details).toEqual({ name: 'N\ufffd\ufffd', stack: 'a\ufffdb' });
    const { stack } = attempts[1]!.error_details!;
    expect(Buffer.byteLength(JSON.stringify(attempts[1]!.error_details))).toBeLessThanOrEqual(65_536);
    expect(Buffer.byteLength(JSON.stringify(attempts[1]!.error_details))).toBeGreaterThan(60_000);
    expect(long.startsWith(stack!)).toBe(true);
    expect(attempts[1]!.error_message).toBe('e'.repeat(8192));
    expect(attempts.slice(2).map(({ error_details }) => error_details)).toEqual([null, null]);
  });

  it('belong to the tenant of the job', async () => {
    const id = await createJob(a, newQueue());
    for (const [client, of, code] of [
      [b, id, 'forbidden'],
      [a, randomUUID(), 'not_found'],
      [a, 'none', 'not_found'],
    ] as const) {
      expect((await client.get(`/api/v1/jobs/${of}/attempts`)).body.code).toBe(code);
    }
    expect((await worker.get(`/api/v1/jobs/${id}/attempts`)).status).toBe(401);
  });

  it('of a job from before they were kept count as omitted', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: retried });
    await fail(worker, await leaseOne(worker, queue));
    await database.query('DELETE FROM millrace.attempts WHERE job_id = $1', [id]);
    await leaseOne(worker, queue);
    const { attempts, omitted } = await attemptsOf(id);
    expect([outcomesOf(attempts), omitted]).toEqual([['2 running'], 1]);
  });
});

describe('attempts of in-process handlers', () => {
  it('keep name and stack of what was thrown, and are logged', async () => {
    const id = await createJob(a, QUEUE, { task_name: 'throws', config: { ...retried, max_retries: 1 } });
    const { error_message } = await waitFor(a, id, 'failed');
    expect(error_message).toBe('not today');
    const { attempts } = await attemptsOf(id);
    expect(outcomesOf(attempts)).toEqual(['1 failed', '2 failed']);
    const { error_details: details, worker_id: name } = attempts[0]!;
    expect(details!.name).toBe(NAMED);
    expect(details!.stack).toMatch(/not today\n\s+at .*attempts\.test/);
    expect(name).toContain(`:${process.pid}`);
    await until(() => log().some((line) => line.job_id === id && line.level === 'error'), { what: 'the log' });
    // Attempt by attempt: the second may begin before the end of the first is known here.
    const lines = log()
      .filter((line) => line.job_id === id)
      .toSorted((one, other) => Number(one.attempt) - Number(other.attempt));
    expect(lines.map(({ attempt, level }) => `${String(attempt)} ${String(level)}`)).toEqual([
      ...['1 warn', '1 info', '2 warn', '2 error'],
    ]);
    expect(lines[0]).toMatchObject({ task: 'throws', queue: QUEUE });
    expect(JSON.stringify(lines[0])).toContain('attempts.test');
  });

  it('keep no details of what is no error', async () => {
    const id = await createJob(a, QUEUE, { task_name: 'throwsText', config: { max_retries: 0 } });
    await waitFor(a, id, 'failed');
    expect((await attemptsOf(id)).attempts).toMatchObject([{ error_message: 'only a text', error_details: null }]);
  });

  it('tell a timeout from a failure', async () => {
    const id = await createJob(a, QUEUE, { task_name: 'hangs', config: { max_retries: 0, timeout_secs: 1 } });
    await waitFor(a, id, 'failed');
    expect((await attemptsOf(id)).attempts).toMatchObject([
      { number: 1, outcome: 'timed_out', error_message: 'timed out after 1 s', error_details: null },
    ]);
  });

  it('name the process that completed a job in a bundle; the job itself names nobody any more', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => createJob(a, QUEUE, { task_name: 'echo' })));
    for (const id of ids) {
      expect(await waitFor(a, id, 'completed')).toMatchObject({ worker_id: null });
      const { attempts } = await attemptsOf(id);
      expect(attempts).toMatchObject([
        { number: 1, outcome: 'completed', worker_id: expect.stringContaining(`:${process.pid}`) },
      ]);
    }
  });

  it.each(['limited', 'a step'])('name the worker that completed a job that is %s', async (kind) => {
    const queue = newQueue();
    const name = `completed ${kind}`;
    if (kind === 'limited') await createJob(a, queue, { config: { limits: [{ key: name, running: 1 }] } });
    else await workflowsOf(a).create([step('only', [], { queue })]);
    const leased = await leaseAs(queue, name);
    await complete(worker, leased);
    expect((await attemptsOf(leased.job.id)).attempts).toMatchObject([{ outcome: 'completed', worker_id: name }]);
  });

  it('are shown on the job while it runs, with their process, bundled or not', async () => {
    const create = (): Promise<string> => createJob(a, QUEUE, { task_name: 'hangs', config: { timeout_secs: 3_600 } });
    const ids = await Promise.all(Array.from({ length: 8 }, create));
    // There are fewer workers than jobs, and any of them may have come first.
    const job = await until(
      async () => (await Promise.all(ids.map((id) => getJob(a, id)))).find(({ status }) => status === 'running'),
      { what: 'one of them to run' },
    );
    expect(job.worker_id).toContain(`:${process.pid}`);
    expect(Date.parse(job.lease_expires_at!)).toBeGreaterThan(Date.parse(job.started_at!));
    for (const id of ids) await cancel(a, id);
    expect(await getJob(a, job.id)).toMatchObject({ worker_id: null, lease_expires_at: null, progress: null });
    expect((await attemptsOf(job.id)).attempts).toMatchObject([{ outcome: 'cancelled', worker_id: job.worker_id }]);
  });
});

describe('the worker and the lease of a running job', () => {
  it('are on the job that is leased, on its record and in lists, and nowhere once it ended', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    expect(await getJob(a, id)).toMatchObject({ worker_id: null, lease_expires_at: null, progress: null });
    const leased = await worker.post(`/api/v1/queues/${queue}/lease`, { worker_id: 'me "and" you', lease_secs: 1_800 });
    const { job } = leased.body.jobs[0] as Leased;
    expect(job.worker_id).toBe('me "and" you');
    expect(Date.parse(job.lease_expires_at!) - Date.parse(job.started_at!)).toBe(1_800_000);
    expect(await getJob(a, id)).toEqual(job);
    const page = await a.get(`/api/v1/jobs?queue=${queue}&status=running`);
    expect(page.body.jobs).toEqual([job]);
    const [row] = await database.query('SELECT worker, queue, task FROM millrace.leases WHERE id = $1', [id]);
    expect(row).toEqual({ worker: 'me "and" you', queue, task: 'task' });
    await report(worker, 'heartbeat', leased.body.jobs[0] as Leased, { extend_secs: 3_600 });
    const { lease_expires_at: extended } = await getJob(a, id);
    expect(Date.parse(extended!)).toBeGreaterThan(Date.parse(job.lease_expires_at!));
    await complete(worker, leased.body.jobs[0] as Leased);
    expect(await getJob(a, id)).toMatchObject({ worker_id: null, lease_expires_at: null, progress: null });
  });

  it('are those of the caller that gets the job, whoever else asks at that moment', async () => {
    const queue = newQueue();
    const names = Array.from({ length: 20 }, (_, n) => (n % 5 === 0 ? null : `worker-${n}`));
    const asking = names.map((worker_id, n) =>
      worker.post(`/api/v1/queues/${queue}/lease`, { max_jobs: 2, wait_secs: 20, worker_id, lease_secs: 1_000 + n }),
    );
    await Promise.all(Array.from({ length: 40 }, () => createJob(a, queue)));
    for (const [n, reply] of (await Promise.all(asking)).entries()) {
      for (const { job } of reply.body.jobs as Leased[]) {
        expect(job.worker_id).toBe(names[n]);
        expect(Date.parse(job.lease_expires_at!) - Date.parse(job.started_at!)).toBe((1_000 + n) * 1000);
      }
    }
  });
});
