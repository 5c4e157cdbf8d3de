import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { cancel, complete, createJob, getJob, lease, leaseOne, newQueue, NEWS_ALONE } from '../kit.js';
import { inTime, leaseNext, LONGEST_WAIT_SECS } from '../waiting.js';
import { checkpointsOf, readAsWorker, signal, store, suspend } from './kit.js';

/** Two processes on one database: what one is told wakes those who wait at the other. */
const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const config = { mode: 'api' as const };
const [one, two] = [
  await startTestServer({ database, config, intervals: NEWS_ALONE }),
  await startTestServer({ database, config, intervals: NEWS_ALONE }),
];
const { a, b, worker } = one;
afterAll(async () => {
  await Promise.all([one.stop(), two.stop()]);
  await database.drop();
});

const HOUR = 3_600;
const newKey = (): string => `k-${randomUUID().slice(0, 8)}`;

/** A job that waits for the signal `go` with this key; null: with its own id. */
async function waiting(key: string | null, more: object = {}): Promise<{ id: string; queue: string }> {
  const queue = newQueue();
  const id = await createJob(a, queue);
  await wait(queue, key, more);
  return { id, queue };
}

async function wait(queue: string, key: string | null, more: object = {}): Promise<void> {
  const wanted = { signal: { name: 'go', ...(key !== null && { key }) }, ...more };
  const reply = await suspend(worker, await leaseOne(worker, queue), {
    checkpoint: 'answer',
    delay_secs: HOUR,
    wait: wanted,
  });
  expect(reply.status, reply.text).toBe(204);
}

describe('a signal', () => {
  it('wakes the job that waits for it, at once, in whichever process its worker asks', async () => {
    const { id, woken } = await inTime(LONGEST_WAIT_SECS, async (time) => {
      const key = newKey();
      const { id, queue } = await waiting(key);
      expect(await getJob(a, id)).toMatchObject({ status: 'pending', waiting_for: { signal: 'go', key } });
      expect((await a.get(`/api/v1/jobs/${id}/why`)).body).toMatchObject({ reason: 'waiting_for_signal' });
      time.restart();
      const polling = lease(two.worker, queue, { wait_secs: LONGEST_WAIT_SECS });
      const sent = `{"name":"go","key":"${key}","value":{ "n": 12345678901234567890}}`;
      const reply = await a.post('/api/v1/signals', sent);
      expect([reply.status, reply.body]).toEqual([202, { delivered: true }]);
      return { id, woken: (await polling)[0] };
    });
    expect(woken!.job).toMatchObject({ id, delivery_count: 2, retry_count: 0 });
    expect((await readAsWorker(worker, woken!)).text).toContain('"value":{"value":{ "n": 12345678901234567890}}');
    expect((await readAsWorker(worker, woken!)).body.waits).toEqual([]);
    await complete(worker, woken!);
    expect(await getJob(a, id)).not.toHaveProperty('waiting_for');
  });

  it('makes no difference whether it comes before the wait or after', async () => {
    const key = newKey();
    for (const value of [1, 2])
      expect((await signal(a, { name: 'go', key, value })).body).toEqual({ delivered: false });
    const jobs = [await waiting(key), await waiting(key)];
    for (const [n, { id, queue }] of jobs.entries()) {
      const woken = await leaseOne(worker, queue);
      expect((await readAsWorker(worker, woken)).body.checkpoints).toMatchObject([
        { name: 'answer', value: { value: n + 1 } },
      ]);
      expect(await getJob(a, id)).not.toHaveProperty('waiting_for');
    }
    const third = await waiting(key);
    expect(await lease(worker, third.queue)).toEqual([]);
    expect((await signal(a, { name: 'go', key })).body).toEqual({ delivered: true });
    expect(await checkpointsOf(a, third.id)).toEqual({ answer: { value: null } });
  });

  it('is taken by one wait, the oldest, and by none of another name, key or tenant', async () => {
    const key = newKey();
    const first = await waiting(key);
    await clock.advance(1);
    const second = await waiting(key);
    await waiting(newKey());
    expect((await signal(b, { name: 'go', key })).body).toEqual({ delivered: false });
    expect((await signal(a, { name: 'other', key })).body).toEqual({ delivered: false });
    expect((await signal(a, { name: 'go', key, value: 'for the first' })).body).toEqual({ delivered: true });
    expect(await checkpointsOf(a, first.id)).toEqual({ answer: { value: 'for the first' } });
    expect(await checkpointsOf(a, second.id)).toEqual({});
  });

  it('reaches each waiting job once, however many signals and waits race in two processes', async () => {
    const key = newKey();
    const queue = newQueue();
    const n = 12;
    const ids: string[] = [];
    for (let each = 0; each < n; each++) ids.push(await createJob(a, queue));
    const leased = await lease(worker, queue, { max_jobs: n });
    const waits = leased.map((job, k) =>
      suspend(k % 2 ? worker : two.worker, job, {
        checkpoint: 'answer',
        delay_secs: HOUR,
        wait: { signal: { name: 'go', key } },
      }),
    );
    const sends = ids.map((_, k) => signal(k % 2 ? two.a : a, { name: 'go', key, value: k }));
    await Promise.all([...waits, ...sends]);
    const taken = await Promise.all(ids.map(async (id) => (await checkpointsOf(a, id)).answer as { value: number }));
    expect(taken.map(({ value }) => value).toSorted((x, y) => x - y)).toEqual(ids.map((_, k) => k));
    expect(await database.query('SELECT FROM millrace.signals WHERE key = $1', [key])).toEqual([]);
    expect(await lease(worker, queue, { max_jobs: n })).toHaveLength(n);
  });

  it('does not count once the deadline has been stored, nor the other way round', async () => {
    const key = newKey();
    const { id, queue } = await waiting(key);
    await clock.advance(HOUR);
    const late = await leaseOne(worker, queue);
    expect((await store(worker, late, 'answer', { timed_out: true })).status).toBe(201);
    expect((await signal(a, { name: 'go', key })).body).toEqual({ delivered: false });
    expect(await checkpointsOf(a, id)).toEqual({ answer: { timed_out: true } });

    const other = await waiting(newKey());
    const { key: otherKey } = (await getJob(a, other.id)).waiting_for!;
    await clock.advance(HOUR);
    const running = await leaseOne(worker, other.queue);
    expect((await signal(a, { name: 'go', key: otherKey, value: 'in time' })).body).toEqual({ delivered: true });
    const stored = await store(worker, running, 'answer', { timed_out: true });
    expect([stored.status, stored.body.value]).toEqual([200, { value: 'in time' }]);
  });

  it('passes over jobs that have ended', async () => {
    const key = newKey();
    const gone = await waiting(key);
    await clock.advance(1);
    const next = await waiting(key);
    await cancel(a, gone.id);
    expect((await signal(a, { name: 'go', key })).body).toEqual({ delivered: true });
    expect(await checkpointsOf(a, next.id)).toEqual({ answer: { value: null } });
    expect(await checkpointsOf(a, gone.id)).toEqual({});
  });

  it('ends the wait that the job is in, and none that it has left', async () => {
    const [left, entered] = [newKey(), newKey()];
    const { queue, id } = await waiting(left);
    await clock.advance(HOUR);
    const again = await leaseOne(worker, queue);
    await suspend(worker, again, {
      checkpoint: 'new',
      delay_secs: HOUR,
      wait: { signal: { name: 'go', key: entered } },
    });
    expect((await signal(a, { name: 'go', key: left })).body).toEqual({ delivered: false });
    expect((await signal(a, { name: 'go', key: entered })).body).toEqual({ delivered: true });
    expect(await checkpointsOf(a, id)).toEqual({ new: { value: null } });
  });

  it('takes effect once under an idempotency key', async () => {
    const [key, once] = [newKey(), randomUUID()];
    const { id } = await waiting(key);
    const first = await signal(a, { name: 'go', key, value: 1 }, once);
    const again = await signal(a, { name: 'go', key, value: 2 }, once);
    expect([first.body, again.body]).toEqual([{ delivered: true }, { delivered: true }]);
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([
      null,
      'true',
    ]);
    expect(await checkpointsOf(a, id)).toEqual({ answer: { value: 1 } });
    expect((await signal(a, { name: 'other', key }, once)).body.code).toBe('conflict');
    expect(await database.query('SELECT FROM millrace.signals WHERE key = $1', [key])).toEqual([]);
  });

  it('goes when its time is over', async () => {
    const key = newKey();
    await signal(a, { name: 'go', key, ttl_secs: 60 });
    await clock.advance(61);
    const { id } = await waiting(key);
    expect(await checkpointsOf(a, id)).toEqual({});
    const cleaner = await startTestServer({ database, config });
    await until(async () => (await database.query('SELECT FROM millrace.signals WHERE key = $1', [key])).length === 0, {
      what: 'the signal to be forgotten',
    });
    await cleaner.stop();
  });

  it('is refused beyond a hundred of a kind, and if it makes no sense', async () => {
    const key = newKey();
    await database.query(
      `INSERT INTO millrace.signals (expires_at, tenant, name, key, value)
       SELECT test_clock.now() + interval '1 hour', 'tenant-a', 'go', $1, 'null' FROM generate_series(1, 99)`,
      [key],
    );
    expect((await signal(a, { name: 'go', key })).status).toBe(202);
    const refused = await signal(a, { name: 'go', key });
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.body.error).toContain('nobody takes them');
    for (const [body, status] of [
      [{ key }, 400],
      [{ name: 'go' }, 400],
      [{ name: '', key }, 400],
      [{ name: 'go', key: 'x'.repeat(201) }, 400],
      [{ name: 'go', key, ttl_secs: 0 }, 400],
      [{ name: 'go', key, ttl_secs: 2_592_001 }, 400],
      [{ name: 'go', key, value: 'x'.repeat(65_536) }, 413],
    ] as const)
      expect((await signal(a, body)).status, JSON.stringify(body).slice(0, 80)).toBe(status);
    expect((await signal(worker, { name: 'go', key })).status).toBe(401);
  });
});

describe('a signal to one job', () => {
  it('is kept until the job waits for it, or ends', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const path = `/api/v1/jobs/${id}/signals/${encodeURIComponent('go')}`;
    expect((await a.post(path, { value: 7 })).body).toEqual({ delivered: false });
    await wait(queue, null);
    expect(await checkpointsOf(a, id)).toEqual({ answer: { value: 7 } });
    expect((await a.post(path)).body).toEqual({ delivered: false });
    expect((await b.post(path, { value: 1 })).status).toBe(403);
    expect((await a.post(`/api/v1/jobs/${randomUUID()}/signals/go`)).status).toBe(404);
    await complete(worker, await leaseOne(worker, queue));
    expect((await a.post(path)).body.code).toBe('already_finished');
    await clock.advance(120);
    const cleaner = await startTestServer({ database, config });
    await until(
      async () => (await database.query('SELECT FROM millrace.signals WHERE job_id = $1', [id])).length === 0,
      {
        what: 'the signal to go with its job',
      },
    );
    await cleaner.stop();
  });

  it('is no run-now', async () => {
    const { id } = await waiting(null);
    expect((await a.post(`/api/v1/jobs/${id}/run-now`)).body.code).toBe('conflict');
    expect((await a.post(`/api/v1/jobs/${id}/signals/go`)).body).toEqual({ delivered: true });
  });
});

describe('a suspended job with limits', () => {
  it('gives back its room while it waits, and waits for room when it is woken', async () => {
    const queue = newQueue();
    const config_ = { limits: [{ key: 'one', running: 1 }] };
    const first = await createJob(a, queue, { config: config_ });
    const second = await createJob(a, queue, { config: config_ });
    await wait(queue, null);
    const other = await leaseNext(worker, queue);
    expect(other.job.id).toBe(second);
    expect((await a.post(`/api/v1/jobs/${first}/signals/go`, { value: 1 })).body).toEqual({ delivered: true });
    expect(await lease(worker, queue)).toEqual([]);
    expect((await a.get(`/api/v1/jobs/${first}/why`)).body.reason).toBe('limited');
    await complete(worker, other);
    const again = await leaseNext(worker, queue);
    expect(again.job).toMatchObject({ id: first, delivery_count: 2 });
    await suspend(worker, again, { checkpoint: 'nap', delay_secs: 60 });
    const third = await createJob(a, queue, { config: config_ });
    const woken = await leaseNext(worker, queue);
    expect(woken.job.id).toBe(third);
    await complete(worker, woken);
    await clock.advance(60);
    const last = await leaseNext(worker, queue);
    expect(last.job).toMatchObject({ id: first, delivery_count: 3 });
    await complete(worker, last);
    expect((await a.get('/api/v1/limits')).body.limits.every((limit: { running: number }) => limit.running === 0)).toBe(
      true,
    );
  });
});

describe('jobs that wait for signals', () => {
  it('are listed for their tenant, the newest first, page by page', async () => {
    const key = newKey();
    const ask = { text: 'Refund 120.00?', choices: [{ label: 'Yes', value: { ok: true } }] };
    const jobs: string[] = [];
    for (let n = 0; n < 3; n++) {
      await clock.advance(1);
      jobs.unshift((await waiting(key, n === 1 ? { ask } : {})).id);
    }
    const list = async (query: string) => (await a.get(`/api/v1/waits?key=${key}${query}`)).body;
    const all = await list('');
    expect(all.waits.map(({ job_id }: { job_id: string }) => job_id)).toEqual(jobs);
    expect(all.waits[1]).toMatchObject({ task_name: 'task', name: 'go', key, ask });
    expect((await list('&ask=true')).waits).toHaveLength(1);
    expect((await list('&name=other')).waits).toEqual([]);
    const first = await list('&limit=2');
    expect([first.waits.length, first.has_more]).toEqual([2, true]);
    const second = await list(`&limit=2&cursor=${first.next_cursor}`);
    expect([...first.waits, ...second.waits]).toEqual(all.waits);
    expect(second).toMatchObject({ has_more: false });
    expect((await b.get('/api/v1/waits')).body.waits).toEqual([]);
    expect((await a.get('/api/v1/waits?cursor=nonsense')).status).toBe(400);
    const large = { text: 'x', choices: Array.from({ length: 20 }, () => ({ label: 'y', value: 'z'.repeat(1_000) })) };
    const queue = newQueue();
    await createJob(a, queue);
    const refused = await suspend(worker, await leaseOne(worker, queue), {
      checkpoint: 'c',
      delay_secs: 1,
      wait: { signal: { name: 'go' }, ask: large },
    });
    expect([refused.status, refused.body.code]).toEqual([413, 'payload_too_large']);
  });
});
