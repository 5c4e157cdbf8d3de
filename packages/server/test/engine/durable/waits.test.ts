import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { createClient } from '../../support/client.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { complete, createJob, fail, getJob, lease, leaseOne, newQueue } from '../kit.js';
import { openEvents } from '../jobs/sse.js';
import { checkpointsOf, readAsWorker, signal, store, suspend } from './kit.js';

/** What is said of waits and signals beside the ways in which they meet. */
const READ_KEY = 'read-key-of-tenant-a-09fe';
const [HOUR, DAY] = [3_600, 86_400];
const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const config = { mode: 'api' as const, readKeys: new Map([[READ_KEY, TENANT_A]]) };
const server = await startTestServer({ database, config });
const { a, b, worker } = server;
afterAll(async () => {
  await server.stop();
  await database.drop();
});

const newKey = (): string => `k-${randomUUID().slice(0, 8)}`;
const why = async (id: string): Promise<string> => (await a.get(`/api/v1/jobs/${id}/why`)).body.reason as string;

/** A job that has suspended itself with these fields. */
async function suspended(fields: object, more: object = {}): Promise<{ id: string; queue: string }> {
  const queue = newQueue();
  const id = await createJob(a, queue, more as Record<string, unknown>);
  const reply = await suspend(worker, await leaseOne(worker, queue), fields);
  expect(reply.status, reply.text).toBe(204);
  return { id, queue };
}

const forSignal = (key: string, more: object = {}): object => ({
  ...{ checkpoint: 'answer', delay_secs: HOUR },
  wait: { signal: { name: 'go', key }, ...more },
});

describe('a wait', () => {
  it('may name an instant, and be reported in a batch', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    const { job, lease_token } = await leaseOne(worker, queue);
    const [key, now] = [newKey(), Date.parse(job.started_at!)];
    const until = new Date(now + HOUR * 1_000).toISOString();
    const report = { job_id: job.id, lease_token, outcome: 'suspended', checkpoint: 'answer', until };
    const ask = { text: 'Ready?', choices: [{ label: 'Yes', value: 1.1 }] };
    const reports = [{ ...report, wait: { signal: { name: 'go', key }, ask } }];
    expect((await worker.post('/api/v1/reports', { reports })).body.reports).toMatchObject([{ ok: true }]);
    const { waiting_for: waiting } = await getJob(a, job.id);
    expect(waiting).toMatchObject({ signal: 'go', key, ask });
    expect(Date.parse(waiting!.until)).toBe(now + HOUR * 1_000);
    expect((await signal(a, { name: 'go', key, value: 2 })).body).toEqual({ delivered: true });
    expect(await checkpointsOf(a, job.id)).toEqual({ answer: { value: 2 } });
  });

  it('is shown until its time is over, or somebody has ended it', async () => {
    const asleep = await suspended({ checkpoint: 'nap', delay_secs: HOUR });
    expect(await why(asleep.id)).toBe('sleeping');
    expect((await a.post(`/api/v1/jobs/${asleep.id}/run-now`)).status).toBe(204);
    expect(await getJob(a, asleep.id)).not.toHaveProperty('waiting_for');
    const waiting = await suspended(forSignal(newKey()));
    expect(await getJob(a, waiting.id)).toHaveProperty('waiting_for');
    await clock.advance(HOUR);
    expect(await getJob(a, waiting.id)).not.toHaveProperty('waiting_for');
    expect((await a.post(`/api/v1/jobs/${waiting.id}/run-now`)).status).toBe(204);
  });

  it('whose time was over holds back no retry of the attempt that came after it', async () => {
    const retries = { config: { retry_delay_secs: HOUR, jitter_factor: 0 } };
    const { id, queue } = await suspended(forSignal(newKey()), retries);
    await clock.advance(HOUR);
    await fail(worker, await leaseOne(worker, queue));
    expect(await why(id)).toBe('retry_backoff');
    expect(await getJob(a, id)).not.toHaveProperty('waiting_for');
    expect((await a.post(`/api/v1/jobs/${id}/run-now`)).status).toBe(204);
    const again = await leaseOne(worker, queue);
    expect((await readAsWorker(worker, again)).body.waits).toMatchObject([{ name: 'answer' }]);
  });

  it('is told to those who watch the job, and so is its end', async () => {
    const [queue, key] = [newQueue(), newKey()];
    const id = await createJob(a, queue);
    const events = await openEvents(a, id);
    await suspend(worker, await leaseOne(worker, queue), forSignal(key, { ask: { text: 'Now?' } }));
    await signal(a, { name: 'go', key });
    await complete(worker, await leaseOne(worker, queue));
    const told = (await events.rest()).map(({ status, waiting_for: waiting }) => [status, waiting?.ask?.text]);
    expect(told[0]).toEqual(['pending', undefined]);
    expect(told.at(-1)).toEqual(['completed', undefined]);
    expect(told.filter(([status]) => status === 'running')).toHaveLength(2);
  });

  it('leaves the step of a workflow running', async () => {
    const queue = newQueue();
    const steps = [{ name: 'one', task_name: 't', queue }];
    const { workflow_id: id } = (await a.post('/api/v1/workflows', { name: 'w', steps })).body;
    await suspend(worker, await leaseOne(worker, queue), { checkpoint: 'nap', delay_secs: HOUR });
    expect((await a.get(`/api/v1/workflows/${id}/steps`)).body.steps).toMatchObject([{ status: 'running' }]);
  });

  it('asks in a form that can be shown', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    for (const ask of [
      {},
      { text: '' },
      { text: 7 },
      { text: 'x'.repeat(4_001) },
      { text: 'x', choices: {} },
      { text: 'x', choices: [{ value: 1 }] },
      { text: 'x', choices: [{ label: '', value: 1 }] },
      { text: 'x', choices: Array.from({ length: 21 }, () => ({ label: 'y', value: 1 })) },
    ]) {
      const reply = await suspend(worker, leased, forSignal('k', { ask }));
      expect([reply.status, reply.body?.code], JSON.stringify(ask).slice(0, 80)).toEqual([400, 'invalid_request']);
      expect(reply.body.details[0].path).toMatch(/^wait/);
    }
    const large = { text: 'x', choices: [{ label: 'y', value: 'z'.repeat(16_384) }] };
    expect((await suspend(worker, leased, forSignal('k', { ask: large }))).status).toBe(413);
  });

  it('ends when its checkpoint is stored, and no other', async () => {
    const { id, queue } = await suspended({ checkpoint: 'nap', delay_secs: 1 });
    await clock.advance(1);
    const again = await leaseOne(worker, queue);
    await store(worker, again, 'other', 1);
    expect((await readAsWorker(worker, again)).body.waits).toHaveLength(1);
    await store(worker, again, 'nap', null);
    expect((await readAsWorker(worker, again)).body.waits).toEqual([]);
    expect(await checkpointsOf(a, id)).toEqual({ other: 1, nap: null });
  });
});

describe('a signal that nobody waits for', () => {
  it('is kept for seven days unless said otherwise, thirty at most', async () => {
    const [usual, longest] = [newKey(), newKey()];
    await signal(a, { name: 'go', key: usual, value: 'usual' });
    await signal(a, { name: 'go', key: longest, value: 'longest', ttl_secs: 30 * DAY });
    await clock.advance(7 * DAY - 1);
    const taken = await suspended(forSignal(usual));
    expect(await checkpointsOf(a, taken.id)).toEqual({ answer: { value: 'usual' } });
    await signal(a, { name: 'go', key: usual });
    await clock.advance(7 * DAY);
    const late = await suspended(forSignal(usual));
    expect(await checkpointsOf(a, late.id)).toEqual({});
    await clock.advance(16 * DAY);
    const last = await suspended(forSignal(longest));
    expect(await checkpointsOf(a, last.id)).toEqual({ answer: { value: 'longest' } });
  });

  it('is refused beyond a hundred thousand of a tenant, whatever their keys', async () => {
    await database.query(
      `INSERT INTO millrace.signals (expires_at, tenant, name, key, value)
       SELECT 'infinity', 'tenant-b', 'go', n::text, 'null' FROM generate_series(1, 100000) AS n`,
    );
    const refused = await signal(b, { name: 'go', key: newKey() });
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.body.error).toContain('nobody takes them');
    expect((await signal(a, { name: 'go', key: newKey() })).status).toBe(202);
  });
});

describe('a signal to one job', () => {
  it('takes effect once under an idempotency key', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const send = (value: number) =>
      a.send('POST', `/api/v1/jobs/${id}/signals/go`, {
        body: { value },
        headers: { 'Idempotency-Key': `once-${id}` },
      });
    const [first, second] = [await send(1), await send(2)];
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    await suspend(worker, await leaseOne(worker, queue), {
      checkpoint: 'c',
      delay_secs: HOUR,
      wait: { signal: { name: 'go' } },
    });
    expect(await checkpointsOf(a, id)).toEqual({ c: { value: 1 } });
    await suspend(worker, await leaseOne(worker, queue), {
      checkpoint: 'd',
      delay_secs: HOUR,
      wait: { signal: { name: 'go' } },
    });
    expect(await lease(worker, queue)).toEqual([]);
  });

  it.each(['', 'x'.repeat(201), 'a\u0000b'])('has a name that can be stored: %j', async (name) => {
    const id = await createJob(a, newQueue());
    const reply = await a.post(`/api/v1/jobs/${id}/signals/${encodeURIComponent(name)}`);
    expect([400, 404]).toContain(reply.status);
  });
});

it('a read-only credential lists waits and checkpoints, and sends no signal', async () => {
  const key = newKey();
  const { id } = await suspended(forSignal(key));
  const reader = createClient(server.url, READ_KEY);
  expect((await reader.get(`/api/v1/waits?key=${key}`)).body.waits).toMatchObject([{ job_id: id }]);
  expect((await reader.get(`/api/v1/jobs/${id}/checkpoints`)).status).toBe(200);
  expect((await reader.post('/api/v1/signals', { name: 'go', key })).status).toBe(403);
  expect((await reader.post(`/api/v1/jobs/${id}/signals/go`, {})).status).toBe(403);
  expect(await checkpointsOf(a, id)).toEqual({});
});
