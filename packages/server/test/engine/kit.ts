import { randomUUID } from 'node:crypto';
import type { DeadLetter, Job, JobStatus } from '@millrace/contract';
import { expect } from 'vitest';
import type { Client, Reply } from '../support/client.js';
import type { TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';

/** For servers whose tests wait for leases to be reclaimed. */
export const SWEEP_OFTEN = { sweepMs: 100 };

/** For servers of tests whose leases run out and are not to be reclaimed, however slow the machine is. */
export const NO_SWEEPS = { sweepMs: 3_600_000 };

/** For servers that only news may wake: whoever is answered was told, and did not happen to look. */
export const NEWS_ALONE = { safetyPollMs: 3_600_000 };

/** Short names for what every test of the engine does, all of it through HTTP. */
export interface Leased {
  readonly job: Job;
  readonly lease_token: string;
}

export interface LeaseOptions {
  readonly max_jobs?: number;
  readonly lease_secs?: number;
  readonly wait_secs?: number;
}

/** A queue that no other test touches. */
export const newQueue = (): string => `q-${randomUUID().slice(0, 8)}`;

export const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();

export const idsOf = (leased: readonly Leased[]): string[] => leased.map(({ job }) => job.id);

/** `fields` beside the task; the configuration names the queue. */
export async function createJob(
  client: Client,
  queue: string,
  { config = {}, ...fields }: { readonly config?: object } & Record<string, unknown> = {},
): Promise<string> {
  const reply = await client.post('/api/v1/jobs', { task_name: 'task', ...fields, config: { queue, ...config } });
  expect(reply.status, reply.text).toBe(201);
  return reply.body.job_id as string;
}

/** `count` jobs on a queue, in order, with as few requests as possible. */
export async function createJobs(client: Client, queue: string, count: number, config: object = {}): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const n = Math.min(1000, count - ids.length);
    const jobs = Array.from({ length: n }, (_, i) => ({
      task_name: 'task',
      payload: { n: ids.length + i },
      config: { queue, ...config },
    }));
    const reply = await client.post('/api/v1/jobs/batch', { jobs });
    expect(reply.status, reply.text).toBe(201);
    ids.push(...(reply.body.job_ids as string[]));
  }
  return ids;
}

export async function getJob(client: Client, id: string): Promise<Job> {
  const reply = await client.get(`/api/v1/jobs/${id}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body as Job;
}

/**
 * For an hour, unless the test says otherwise: the half a minute that callers get by themselves may pass between two
 * lines of a test, on a machine that is held up.
 */
export async function lease(worker: Client, queue: string, options: LeaseOptions = {}): Promise<Leased[]> {
  const body = { lease_secs: 3_600, ...options };
  const reply = await worker.post(`/api/v1/queues/${encodeURIComponent(queue)}/lease`, body);
  expect(reply.status, reply.text).toBe(200);
  return reply.body.jobs as Leased[];
}

export async function leaseOne(worker: Client, queue: string, options: LeaseOptions = {}): Promise<Leased> {
  const [leased] = await lease(worker, queue, options);
  expect(leased, `a job on ${queue}`).toBeDefined();
  return leased!;
}

export const report = (worker: Client, what: string, { job, lease_token }: Leased, fields = {}): Promise<Reply> =>
  worker.post(`/api/v1/jobs/${job.id}/${what}`, { lease_token, ...fields });

export const complete = (worker: Client, leased: Leased, result: object = {}): Promise<Reply> =>
  report(worker, 'complete', leased, { result });

export const fail = (worker: Client, leased: Leased, fields: object = {}): Promise<Reply> =>
  report(worker, 'fail', leased, { error: 'broken', ...fields });

export const heartbeat = (worker: Client, leased: Leased, extend_secs = 3_600): Promise<Reply> =>
  report(worker, 'heartbeat', leased, { extend_secs });

export const cancel = (client: Client, id: string): Promise<Reply> => client.post(`/api/v1/jobs/${id}/cancel`);

/** The lease of a job is over from here on; the next sweep takes it. */
export const expireLease = (database: Pick<TestDatabase, 'query'>, jobId: string): Promise<unknown> =>
  database.query(`UPDATE millrace.leases SET locked_until = now() - interval '1 second' WHERE id = $1`, [jobId]);

const KEYS = { leases: 'id', bundles: 'token, tenant' } as const;

/**
 * So are all leases, or bundles, of which the condition is true. They are locked in the order of their key first, as
 * everybody locks several of them: two who do it in different orders would end up waiting for each other.
 */
export const expireAll = (
  database: Pick<TestDatabase, 'query'>,
  table: keyof typeof KEYS,
  condition: string,
  values: unknown[] = [],
): Promise<unknown> =>
  database.query(
    `WITH mine AS MATERIALIZED (SELECT FROM millrace.${table} WHERE ${condition} ORDER BY ${KEYS[table]} FOR UPDATE)
     UPDATE millrace.${table} SET locked_until = now() - interval '1 second'
     WHERE ${condition} AND (SELECT count(*) FROM mine) > 0`,
    values,
  );

/** Every dead letter of a job; more than one would be a fault. */
export async function deadLettersOf(client: Client, jobId: string): Promise<DeadLetter[]> {
  const found: DeadLetter[] = [];
  for (let cursor = ''; ;) {
    const { body } = await client.get(`/api/v1/dlq?limit=100${cursor}`);
    found.push(...(body.dead_letters as DeadLetter[]).filter((letter) => letter.job_id === jobId));
    if (!body.has_more) return found;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

export const waitFor = (client: Client, id: string, status: JobStatus): Promise<Job> =>
  until(
    async () => {
      const job = await getJob(client, id);
      return job.status === status ? job : `it is ${job.status}`;
    },
    { what: `job ${id} to be ${status}` },
  );

/** Every job of a listing, page by page. */
export async function listAll(client: Client, query: string): Promise<Job[]> {
  const jobs: Job[] = [];
  for (let cursor = ''; ;) {
    const { body } = await client.get(`/api/v1/jobs?${query}${cursor}`);
    jobs.push(...(body.jobs as Job[]));
    if (!body.has_more) return jobs;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

/** The counters of GET /api/v1/stats. */
export async function stats(client: Client): Promise<Record<string, number>> {
  return (await client.get('/api/v1/stats')).body as Record<string, number>;
}

/** Instants as text that sorts by time: those of the service have only as many fractional digits as they need. */
export const comparable = (instant: string | null): string =>
  (instant ?? '').replace(/(?:\.(\d+))?Z$/, (_, fraction = '') => `.${String(fraction).padEnd(6, '0')}Z`);
