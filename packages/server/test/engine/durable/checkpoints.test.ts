import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { cancel, complete, createJob, expireLease, fail, leaseOne, newQueue, SWEEP_OFTEN } from '../kit.js';
import { leaseNext } from '../waiting.js';
import { checkpointsOf, readAsWorker, store } from './kit.js';

const MAX_BYTES = 20_000;
const database = await cloneDatabase();
const config = { mode: 'api' as const, maxPayloadBytes: MAX_BYTES };
const server = await startTestServer({ database, config, intervals: SWEEP_OFTEN });
const two = await startTestServer({ database, config });
const { a, b, worker, admin } = server;
afterAll(async () => {
  await Promise.all([server.stop(), two.stop()]);
  await database.drop();
});

describe('a checkpoint', () => {
  it('is kept under its name, as it was sent, and the first one stands', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    const sent = `{"lease_token":"${leased.lease_token}","name":"charge ü","value":{ "id": 12345678901234567890, "n":1.10}}`;
    const first = await worker.post(`/api/v1/jobs/${id}/checkpoints`, sent);
    expect([first.status, first.text]).toEqual([
      201,
      '{"name":"charge ü","value":{ "id": 12345678901234567890, "n":1.10}}',
    ]);
    const second = await store(worker, leased, 'charge ü', 'other');
    expect([second.status, second.text]).toEqual([200, first.text]);
    for (const value of [null, false, 0, '', [], 'text']) {
      const reply = await store(worker, leased, `value ${JSON.stringify(value)}`, value);
      expect([reply.status, reply.body.value]).toEqual([201, value]);
    }
    const { body, text } = await a.get(`/api/v1/jobs/${id}/checkpoints`);
    expect(text).toContain('"value":{ "id": 12345678901234567890, "n":1.10}');
    expect(body.checkpoints).toHaveLength(7);
    expect(body.checkpoints[0]).toMatchObject({ name: 'charge ü', attempt: 1, at: expect.stringMatching(/Z$/) });
    expect(body.waits).toEqual([]);
  });

  it('may be dense: its text is kept, and never parsed', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    const dense = `[${'{},'.repeat(4_500)}1.10]`;
    const sent = `{"lease_token":"${leased.lease_token}","name":"dense","value":${dense}}`;
    const reply = await worker.post(`/api/v1/jobs/${id}/checkpoints`, sent);
    expect([reply.status, reply.text]).toEqual([201, `{"name":"dense","value":${dense}}`]);
  });

  it('outlives the attempt that stored it, and its worker reads it in the next one', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0, jitter_factor: 0 } });
    const first = await leaseOne(worker, queue);
    await store(worker, first, 'one', 1);
    expect((await fail(worker, first)).status).toBe(204);
    expect((await store(worker, first, 'two', 2)).body.code).toBe('lease_lost');
    expect((await readAsWorker(worker, first)).body.code).toBe('lease_lost');
    const second = await leaseOne(worker, queue);
    await store(worker, second, 'two', 'again');
    const read = await readAsWorker(worker, second);
    expect(read.body.checkpoints).toMatchObject([
      { name: 'one', value: 1, attempt: 1 },
      { name: 'two', value: 'again', attempt: 2 },
    ]);
    await complete(worker, second);
    expect((await store(worker, second, 'three', 3)).body.code).toBe('lease_lost');
    expect(await checkpointsOf(a, id)).toEqual({ one: 1, two: 'again' });
  });

  it('is not stored by an attempt whose lease expired, nor after a cancellation', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0, jitter_factor: 0 } });
    const first = await leaseOne(worker, queue);
    await expireLease(database, id);
    const second = await leaseNext(worker, queue);
    expect((await store(worker, first, 'late', 1)).status).toBe(409);
    await store(worker, second, 'in time', 2);
    await cancel(a, id);
    expect((await store(worker, second, 'too late', 3)).status).toBe(409);
    expect(await checkpointsOf(a, id)).toEqual({ 'in time': 2 });
  });

  it('is stored once by any number of calls at once, and all learn what stands', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    const calls = Array.from({ length: 20 }, (_, n) => store(n % 2 ? worker : two.worker, leased, 'race', n));
    const replies = await Promise.all(calls);
    const [standing] = Object.values(await checkpointsOf(a, id));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(new Set(replies.map(({ body }) => body.value))).toEqual(new Set([standing]));
    const [totals] = await database.query('SELECT count FROM millrace.checkpoint_totals WHERE job_id = $1', [id]);
    expect(totals).toEqual({ count: 1 });
  });

  it('has its bounds: a thousand per job, and their bytes together', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    const many = await leaseOne(worker, queue);
    await store(worker, many, 'n7', 0);
    // As if it had stored 998 more.
    await database.query('UPDATE millrace.checkpoint_totals SET count = 999 WHERE job_id = $1', [many.job.id]);
    expect((await store(worker, many, 'the last', 0)).status).toBe(201);
    const refused = await store(worker, many, 'one more', 0);
    expect([refused.status, refused.body.code]).toEqual([413, 'payload_too_large']);
    expect(refused.body.error).toContain('"one more"');
    expect((await store(worker, many, 'n7', 'other')).body).toEqual({ name: 'n7', value: 0 });

    await createJob(a, queue);
    const large = await leaseOne(worker, queue);
    expect((await store(worker, large, 'half', 'x'.repeat(MAX_BYTES / 2))).status).toBe(201);
    expect((await store(worker, large, 'too much', 'x'.repeat(MAX_BYTES / 2))).status).toBe(413);
    expect((await store(worker, large, 'alone too much', 'x'.repeat(MAX_BYTES))).status).toBe(413);
    expect((await store(worker, large, 'fits', 'x'.repeat(MAX_BYTES / 4))).status).toBe(201);
  });

  it('is refused if it makes no sense', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    const send = (body: object) => worker.post(`/api/v1/jobs/${id}/checkpoints`, body);
    const { lease_token } = leased;
    for (const [body, path] of [
      [{ lease_token, value: 1 }, 'name'],
      [{ lease_token, name: '', value: 1 }, 'name'],
      [{ lease_token, name: 'x'.repeat(201), value: 1 }, 'name'],
      [{ lease_token, name: 7, value: 1 }, 'name'],
      [{ lease_token, name: 'a\u0000b', value: 1 }, 'name'],
      [{ lease_token, name: 'x' }, 'value'],
      [{ name: 'x', value: 1 }, 'lease_token'],
    ] as const) {
      const reply = await send(body);
      expect([reply.status, reply.body.details?.[0].path], JSON.stringify(body)).toEqual([400, path]);
    }
    expect((await send({ lease_token: randomUUID(), name: 'x', value: 1 })).body.code).toBe('lease_lost');
    expect((await store(worker, { ...leased, job: { ...leased.job, id: randomUUID() } }, 'x', 1)).status).toBe(404);
    expect((await store(worker, leased, 'x'.repeat(200), 1)).status).toBe(201);
  });
});

describe('who reads checkpoints', () => {
  it('is their tenant, and the worker that holds the job', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    await store(worker, leased, 'secret', { of: 'a' });
    const path = `/api/v1/jobs/${id}/checkpoints`;
    expect((await b.get(path)).body.code).toBe('forbidden');
    expect((await server.nobody.get(path)).status).toBe(401);
    expect((await admin.get(path)).status).toBe(401);
    expect((await worker.get(path)).body.details).toMatchObject([{ path: 'Lease-Token' }]);
    expect((await readAsWorker(worker, { ...leased, lease_token: randomUUID() })).status).toBe(409);
    expect((await readAsWorker(worker, leased)).body.checkpoints).toHaveLength(1);
    expect((await a.get(`/api/v1/jobs/${randomUUID()}/checkpoints`)).status).toBe(404);
    expect((await a.get('/api/v1/jobs/nonsense/checkpoints')).status).toBe(404);
    expect((await a.post(path, { lease_token: leased.lease_token, name: 'x', value: 1 })).body.code).toBe('forbidden');
  });
});
