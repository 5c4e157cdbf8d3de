import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Reply } from '../../support/client.js';
import { useTestServer } from '../../support/server.js';
import {
  cancel,
  complete,
  createJob,
  createJobs,
  deadLettersOf,
  fail,
  getJob,
  idsOf,
  lease,
  leaseOne,
  newQueue,
  report,
  type Leased,
} from '../kit.js';
import { leaseNext } from '../waiting.js';

const MAX_PAYLOAD = 100_000;
const server = await useTestServer({ config: { mode: 'api', maxPayloadBytes: MAX_PAYLOAD } });
const { a, worker, nobody, database } = server;

const release = (leased: Leased, fields: object = {}): Promise<Reply> => report(worker, 'release', leased, fields);
const of = ({ job, lease_token }: Leased): object => ({ job_id: job.id, lease_token });

/** Answers of POST /reports, without the texts for people. */
async function reports(...items: unknown[]): Promise<unknown[]> {
  const reply = await worker.post('/api/v1/reports', { reports: items });
  expect(reply.status, reply.text).toBe(200);
  return withoutTexts(reply.body.reports as object[]);
}

async function beats(items: unknown[], extend_secs?: number): Promise<unknown[]> {
  const reply = await worker.post('/api/v1/heartbeats', { leases: items, extend_secs });
  expect(reply.status, reply.text).toBe(200);
  return withoutTexts(reply.body.leases as object[]);
}

const withoutTexts = (answers: readonly { error?: unknown; code?: unknown }[]): object[] =>
  answers.map(({ error, ...rest }) => {
    expect(typeof error).toBe(rest.code === undefined ? 'undefined' : 'string');
    return rest;
  });

describe('giving a job back', () => {
  it('counts the delivery but no retry, and makes it due at once where it was', async () => {
    const queue = newQueue();
    const [id, next] = await createJobs(a, queue, 2, { max_retries: 0 });
    const leased = await leaseOne(worker, queue);
    const reply = await release(leased);
    expect([reply.status, reply.text]).toEqual([204, '']);
    const job = await getJob(a, id!);
    expect(job).toMatchObject({ status: 'pending', retry_count: 0, delivery_count: 1, error_message: null });
    expect(job.scheduled_at).toBe(job.created_at);
    const again = await lease(worker, queue, { max_jobs: 2 });
    expect(idsOf(again)).toEqual([id, next]);
    expect(again[0]!.job.delivery_count).toBe(2);
    expect((await complete(worker, again[0]!)).status).toBe(204);
  });

  it('can wait, and the wait is still there when the job runs again', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    await release(await leaseOne(worker, queue), { delay_secs: 3600 });
    expect(await lease(worker, queue)).toEqual([]);
    const job = await getJob(a, id);
    expect(job).toMatchObject({ status: 'pending', next_retry_at: null });
    expect(Date.parse(job.scheduled_at) - Date.parse(job.started_at!)).toBeGreaterThanOrEqual(3_600_000);
    const soon = await createJob(a, queue);
    await release(await leaseOne(worker, queue), { delay_secs: 1 });
    const waiting = await getJob(a, soon);
    const leased = await leaseNext(worker, queue);
    expect(leased.job).toMatchObject({ id: soon, scheduled_at: waiting.scheduled_at, delivery_count: 2 });
    await release(leased);
    expect((await getJob(a, soon)).scheduled_at).toBe(waiting.scheduled_at);
  });

  it('keeps a job that has failed before retrying, under the error it had', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0, max_retries: 1 } });
    await fail(worker, await leaseOne(worker, queue));
    await release(await leaseOne(worker, queue));
    expect(await getJob(a, id)).toMatchObject({ status: 'retrying', retry_count: 1, error_message: 'broken' });
  });

  it('is accepted for an ended job, refused under a stale token, and unknown of no job', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const first = await leaseOne(worker, queue);
    await release(first);
    expect((await release(first)).body.code).toBe('lease_lost');
    const second = await leaseOne(worker, queue);
    expect((await release(first)).body.code).toBe('lease_lost');
    await complete(worker, second);
    expect([(await release(first)).status, (await release(second)).status]).toEqual([204, 204]);
    expect((await getJob(a, id)).status).toBe('completed');
    for (const unknown of [randomUUID(), 'none']) {
      const body = { lease_token: randomUUID() };
      expect((await worker.post(`/api/v1/jobs/${unknown}/release`, body)).body.code).toBe('not_found');
    }
    expect((await a.post(`/api/v1/jobs/${id}/release`, { lease_token: first.lease_token })).status).toBe(403);
  });
});

describe('a failure', () => {
  it.each([0, 2_592_000])(
    'is retried after the %s seconds that it asks for, uncapped and without jitter',
    async (secs) => {
      const queue = newQueue();
      const config = { retry_delay_secs: 5, retry_max_delay_secs: 10, jitter_factor: 1 };
      const id = await createJob(a, queue, { config });
      expect((await fail(worker, await leaseOne(worker, queue), { retry_after_secs: secs })).status).toBe(204);
      const { next_retry_at: next } = await getJob(a, id);
      const [attempt] = (await a.get(`/api/v1/jobs/${id}/attempts`)).body.attempts;
      expect(attempt.next_retry_at).toBe(next);
      expect(Date.parse(next!) - Date.parse(attempt.ended_at as string)).toBe(secs * 1000);
    },
  );

  it('has no retry to wait for if none is left or it is for good', async () => {
    const queue = newQueue();
    const ids = [
      await createJob(a, queue, { config: { max_retries: 0 } }),
      await createJob(a, queue, { config: { max_retries: 5 } }),
    ];
    const [one, two] = await lease(worker, queue, { max_jobs: 2 });
    await fail(worker, one!, { retry_after_secs: 5 });
    await fail(worker, two!, { retry_after_secs: 5, retryable: false });
    for (const id of ids) {
      expect(await getJob(a, id)).toMatchObject({ status: 'failed', next_retry_at: null });
      expect(await deadLettersOf(a, id)).toHaveLength(1);
    }
  });
});

describe('reports on many jobs in one call', () => {
  it('are answered in order, each as by itself, and none spoils the others', async () => {
    const queue = newQueue();
    const config = { retry_delay_secs: 0, max_retries: 3 };
    await createJobs(a, queue, 8, config);
    const [done, failed, dead, back, stale, large, wrong, ended] = await lease(worker, queue, { max_jobs: 8 });
    await cancel(a, ended!.job.id);
    const nowhere = randomUUID();
    const answers = await reports(
      { ...of(stale!), lease_token: randomUUID(), outcome: 'completed' },
      { ...of(done!), outcome: 'completed', result: { n: 1 } },
      { ...of(failed!), outcome: 'failed', error: 'no\0', retry_after_secs: 60, details: { name: 'E', stack: 's' } },
      { ...of(dead!), outcome: 'failed', error: 'never', retryable: false },
      { ...of(back!), outcome: 'released', delay_secs: 60 },
      { ...of(large!), outcome: 'completed', result: { text: 'x'.repeat(MAX_PAYLOAD) } },
      { ...of(wrong!), outcome: 'failed' },
      { ...of(wrong!), outcome: 'finished' },
      { ...of(wrong!), outcome: 'completed', result: [] },
      { ...of(wrong!), outcome: 'released', delay_secs: -1 },
      { job_id: wrong!.job.id, outcome: 'completed' },
      { job_id: nowhere, lease_token: nowhere, outcome: 'completed' },
      { job_id: 'none "of" these', lease_token: 'x', outcome: 'completed' },
      { lease_token: 'x', outcome: 'completed' },
      null,
      7,
      'text',
      [{}],
      { ...of(ended!), outcome: 'completed' },
    );
    const invalid = { job_id: wrong!.job.id, code: 'invalid_request' };
    expect(answers).toEqual([
      { job_id: stale!.job.id, code: 'lease_lost' },
      { job_id: done!.job.id, ok: true },
      { job_id: failed!.job.id, ok: true },
      { job_id: dead!.job.id, ok: true },
      { job_id: back!.job.id, ok: true },
      { job_id: large!.job.id, code: 'payload_too_large' },
      ...Array.from({ length: 5 }, () => invalid),
      { job_id: nowhere, code: 'not_found' },
      { job_id: 'none "of" these', code: 'not_found' },
      ...Array.from({ length: 5 }, () => ({ job_id: '', code: 'invalid_request' })),
      { job_id: ended!.job.id, ok: true },
    ]);
    const jobOf = ({ job }: Leased): Promise<object> => getJob(a, job.id);
    expect(await jobOf(done!)).toMatchObject({ status: 'completed', result: { n: 1 } });
    expect(await jobOf(failed!)).toMatchObject({ status: 'retrying', error_message: 'no\ufffd' });
    expect(await jobOf(dead!)).toMatchObject({ status: 'failed', error_message: 'never' });
    expect(await jobOf(back!)).toMatchObject({ status: 'pending', delivery_count: 1, retry_count: 0 });
    for (const untouched of [stale!, large!, wrong!])
      expect(await jobOf(untouched)).toMatchObject({ status: 'running' });
    expect(await jobOf(ended!)).toMatchObject({ status: 'cancelled' });
    const [attempt] = (await a.get(`/api/v1/jobs/${failed!.job.id}/attempts`)).body.attempts;
    expect(attempt.error_details).toEqual({ name: 'E', stack: 's' });
    expect(Date.parse(attempt.next_retry_at) - Date.parse(attempt.ended_at)).toBe(60_000);
  });

  it('store results as they were sent, to the byte', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 3);
    const leased = await lease(worker, queue, { max_jobs: 3 });
    const texts = ['{ "n": 12345678901234567890, "e": 1.10e2 }', '{"\\u0061":[ ],\n"b":"]}\\""}', '{}'];
    const items = leased.map((each, n) => {
      const { job_id, lease_token } = of(each) as { job_id: string; lease_token: string };
      return `{"result":${texts[n]}, "job_id":"${job_id}" ,"lease_token":"${lease_token}","outcome":"completed"}`;
    });
    const reply = await worker.post('/api/v1/reports', `{ "reports" : [ 7 , ${items.join(' ,\n')}, {"result": {}} ] }`);
    expect(reply.body.reports.map(({ ok }: { ok?: boolean }) => ok ?? false)).toEqual([false, true, true, true, false]);
    for (const [n, { job }] of leased.entries()) {
      expect((await a.get(`/api/v1/jobs/${job.id}`)).text).toContain(`"result":${texts[n]}`);
    }
  });

  it('of two on one job the first acts, and the second gets what a second call would get', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 3, { retry_delay_secs: 0 });
    const [one, two, three] = await lease(worker, queue, { max_jobs: 3 });
    const upper = ({ job }: Leased): object => ({ job_id: job.id.toUpperCase() });
    const answers = await reports(
      { ...of(one!), outcome: 'completed', result: { first: true } },
      { ...of(two!), outcome: 'failed', error: 'first', retry_after_secs: 600 },
      { ...of(three!), outcome: 'released', delay_secs: 600 },
      { ...of(one!), ...upper(one!), outcome: 'failed', error: 'second', retryable: false },
      { ...of(two!), outcome: 'completed', result: { second: true } },
      { ...of(three!), outcome: 'completed' },
      { ...of(one!), outcome: 'completed', result: { third: true } },
    );
    expect(answers).toEqual([
      { job_id: one!.job.id, ok: true },
      { job_id: two!.job.id, ok: true },
      { job_id: three!.job.id, ok: true },
      { ...upper(one!), ok: true },
      { job_id: two!.job.id, code: 'lease_lost' },
      { job_id: three!.job.id, code: 'lease_lost' },
      { job_id: one!.job.id, ok: true },
    ]);
    expect(await getJob(a, one!.job.id)).toMatchObject({ status: 'completed', result: { first: true } });
    expect(await getJob(a, two!.job.id)).toMatchObject({ status: 'retrying', error_message: 'first' });
    expect(await getJob(a, three!.job.id)).toMatchObject({ status: 'pending', delivery_count: 1 });
  });

  it('move workflows on', async () => {
    const steps = ['a', 'b'].map((name) => ({ name, task_name: 'task', depends_on: [] }));
    const { body } = await a.post('/api/v1/workflows', { name: 'w', steps });
    // Steps are on the default queue: whoever they belong to, only these run there.
    const leased = await lease(worker, 'default', { max_jobs: 100 });
    const mine = leased.filter(({ job }) => job.workflow_id === body.workflow_id);
    expect(mine).toHaveLength(2);
    expect(await reports(...mine.map((each) => ({ ...of(each), outcome: 'completed', result: {} })))).toEqual(
      mine.map(({ job }) => ({ job_id: job.id, ok: true })),
    );
    expect((await a.get(`/api/v1/workflows/${body.workflow_id}`)).body.status).toBe('completed');
  });

  it('are a thousand at most, and few statements', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 1000);
    const leased: Leased[] = [];
    while (leased.length < 1000) leased.push(...(await lease(worker, queue, { max_jobs: 100 })));
    const items = leased.map((each) => ({ ...of(each), outcome: 'completed' }));
    const tooMany = await worker.post('/api/v1/reports', { reports: [...items, items[0]] });
    expect([tooMany.status, tooMany.body.details[0].path]).toEqual([400, 'reports']);
    expect(await reports(...items)).toEqual(leased.map(({ job }) => ({ job_id: job.id, ok: true })));
    const [row] = await database.query(
      `SELECT count(*)::int AS jobs, count(DISTINCT completed_at)::int AS statements FROM millrace.done d
       JOIN millrace.jobs j USING (tenant, id) WHERE j.queue = $1`,
      [queue],
    );
    expect(row!.jobs).toBe(1000);
    expect(row!.statements).toBeLessThan(10);
  });

  it.each([
    ['reports', {}],
    ['reports', { reports: [] }],
    ['reports', { reports: {} }],
    ['heartbeats', {}],
    ['heartbeats', { leases: [] }],
    ['heartbeats', { leases: [{}], extend_secs: 'x' }],
  ])('as a whole are refused if the body is wrong: %s %j', async (path, body) => {
    expect((await worker.post(`/api/v1/${path}`, body)).body.code).toBe('invalid_request');
  });

  it.each(['reports', 'heartbeats'])('take the credential of a worker: %s', async (path) => {
    const body = { reports: [{}], leases: [{}] };
    expect((await a.post(`/api/v1/${path}`, body)).status).toBe(403);
    for (const client of [nobody, server.as('unknown')]) {
      expect((await client.post(`/api/v1/${path}`, body)).status).toBe(401);
    }
  });
});

describe('heartbeats for many leases in one call', () => {
  it('are answered in order, each as by itself', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, 4);
    const [one, two, ended, cancelled] = await lease(worker, queue, { max_jobs: 4, lease_secs: 1_800 });
    await complete(worker, ended!);
    await cancel(a, cancelled!.job.id);
    const nowhere = randomUUID();
    const answers = await beats(
      [
        of(two!),
        of(ended!),
        { ...of(one!), progress: { done: 1 } },
        { job_id: one!.job.id, lease_token: nowhere },
        { job_id: nowhere, lease_token: nowhere },
        { job_id: 'none', lease_token: 'x' },
        of(cancelled!),
        { ...of(two!), progress: { text: 'x'.repeat(16_384) } },
        { ...of(two!), progress: 7 },
        { job_id: two!.job.id },
        false,
        of(two!),
      ],
      3_600,
    );
    expect(answers).toEqual([
      { job_id: ids[1], status: 'running' },
      { job_id: ids[2], status: 'completed' },
      { job_id: ids[0], status: 'running' },
      { job_id: ids[0], code: 'lease_lost' },
      { job_id: nowhere, code: 'not_found' },
      { job_id: 'none', code: 'not_found' },
      { job_id: ids[3], status: 'cancelled' },
      { job_id: ids[1], code: 'payload_too_large' },
      { job_id: ids[1], code: 'invalid_request' },
      { job_id: ids[1], code: 'invalid_request' },
      { job_id: '', code: 'invalid_request' },
      { job_id: ids[1], status: 'running' },
    ]);
    for (const { job } of [one!, two!]) {
      const { lease_expires_at: until, started_at } = await getJob(a, job.id);
      expect(Date.parse(until!) - Date.parse(started_at!)).toBeGreaterThanOrEqual(3_600_000);
    }
    expect((await getJob(a, ids[0]!)).progress).toEqual({ done: 1 });
    expect((await getJob(a, ids[1]!)).progress).toBeNull();
  });

  it('are a thousand at most', async () => {
    const leases = Array.from({ length: 1001 }, () => ({ job_id: randomUUID(), lease_token: randomUUID() }));
    expect((await worker.post('/api/v1/heartbeats', { leases })).body.details[0].path).toBe('leases');
    const answers = await beats(leases.slice(1));
    expect(new Set(answers.map((answer) => (answer as { code: string }).code))).toEqual(new Set(['not_found']));
  });
});
