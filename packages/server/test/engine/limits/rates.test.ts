import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { createClient } from '../../support/client.js';
import { KEY_A, startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { violationsIn } from '../../support/violations.js';
import { startAnotherServer } from '../another-server.js';
import { suspend } from '../durable/kit.js';
import * as kit from '../kit.js';
import { complete, fail, idsOf, lease, newQueue, SWEEP_OFTEN, type Leased } from '../kit.js';
import { leaseSome } from '../waiting.js';

interface Rate {
  readonly count: number;
  readonly per_secs: number;
  readonly burst?: number;
}

describe('rates of keys', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  // What follows is about instants, not about how fast this machine is: the clock moves when it is told to.
  await clock.freeze();
  const server = await startTestServer({ database, config: { workers: 1 }, intervals: SWEEP_OFTEN });
  const other = await startAnotherServer(database, { workers: 1 });
  const { a, b, worker } = server;
  const a2 = createClient(other.apiUrl!, KEY_A);
  afterAll(async () => {
    await other.stop();
    await server.stop();
    await database.drop();
  });

  const of = (key: string, rate: Rate, more: object = {}): { config: object } => ({
    config: { limits: [{ key, rate }], ...more },
  });
  /** Ids of one instant are in no order, and which job is the newest is a matter of order. */
  const createJob: typeof kit.createJob = async (client, queue, fields) => {
    await clock.advance(0.001);
    return kit.createJob(client, queue, fields);
  };
  const HOURLY = { count: 1, per_secs: 3600 };
  /** The next one that can be had, once it can. */
  const one = async (queue: string): Promise<Leased> => {
    const leased = await leaseSome(worker, queue, { max_jobs: 100 });
    expect(leased).toHaveLength(1);
    return leased[0]!;
  };
  /** Everything that was to be looked at has been, claims too, and nothing can be had. */
  const none = async (queue: string): Promise<void> => {
    await settled();
    expect(await lease(worker, queue, { max_jobs: 100 })).toEqual([]);
  };
  const settled = (): Promise<unknown> =>
    until(async () => {
      const [left] = await database.query<{ n: string }>(
        `SELECT (SELECT count(*) FROM millrace.limit_notes)
              + (SELECT count(*) FROM millrace.limits WHERE next_at <= test_clock.now())
              + (SELECT count(*) FROM millrace.limit_tokens t
                 WHERE NOT EXISTS (SELECT FROM millrace.ready r WHERE r.tenant = t.tenant AND r.id = t.job_id)) AS n`,
      );
      return left!.n === '0';
    });
  const drained = async (queue: string, seconds: number): Promise<string[]> => {
    await clock.advance(seconds);
    const found: string[] = [];
    for (;;) {
      await settled();
      const leased = await lease(worker, queue, { max_jobs: 100 });
      if (leased.length === 0) return found;
      found.push(...idsOf(leased));
      for (const each of leased) await complete(worker, each);
    }
  };

  it('starts one job, and the next when its time has come', async () => {
    const queue = newQueue();
    const rate = { count: 6, per_secs: 60 };
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push(await createJob(n === 1 ? a2 : a, queue, of('partner', rate)));
    expect((await one(queue)).job.id).toBe(ids[0]);
    await none(queue);
    await clock.advance(9);
    await none(queue);
    await clock.advance(1.1);
    expect((await one(queue)).job.id).toBe(ids[1]);
    await none(queue);
    await clock.advance(10.1);
    expect((await one(queue)).job.id).toBe(ids[2]);
  });

  it('starts as many at once as the burst says, and again after a pause', async () => {
    const queue = newQueue();
    const rate = { count: 6, per_secs: 60, burst: 3 };
    const ids = await kit.createJobs(a, queue, 8, { limits: [{ key: 'k', rate }] });
    expect(await drained(queue, 0)).toEqual(ids.slice(0, 3));
    expect(await drained(queue, 10.1)).toEqual(ids.slice(3, 4));
    expect(await drained(queue, 35)).toEqual(ids.slice(4, 7));
    expect(await drained(queue, 3600)).toEqual(ids.slice(7));
  });

  it('never starts more than count + burst in a window, however late the jobs are claimed', async () => {
    const queue = newQueue();
    const rate = { count: 10, per_secs: 60, burst: 5 };
    await kit.createJobs(a, queue, 60, { limits: [{ key: 'k', rate }] });
    const starts: number[] = [];
    const now = async (): Promise<number> => (await clock.now()).getTime() / 1000;
    // Nobody comes for an hour; then somebody does, now and then for longer than a token takes, and takes all there is.
    for (const pause of [3600, 0, 0.5, 7, 30, 0, 6.1, 1, 59, 0, 3, 3, 3, 3, 3, 25, 0, 0, 12]) {
      for (const _ of await drained(queue, pause)) starts.push(await now());
    }
    expect(starts.length).toBeGreaterThan(20);
    for (const from of starts) {
      const within = starts.filter((at) => at >= from && at < from + rate.per_secs);
      expect(within.length).toBeLessThanOrEqual(rate.count + rate.burst);
    }
  });

  it('keeps what it knows of the rate while nobody uses the key, for processes that have never seen it', async () => {
    const queue = newQueue();
    await createJob(a, queue, of('k', HOURLY));
    await complete(worker, await one(queue));
    await until(async () => (await a.get(`/api/v1/limits?queue=${queue}`)).body.limits[0]?.running === 0);
    await clock.advance(1800);
    const fresh = await startAnotherServer(database, { workers: 1 });
    onTestFinished(() => fresh.stop());
    const second = await createJob(createClient(fresh.apiUrl!, KEY_A), queue, of('k', HOURLY));
    await none(queue);
    await clock.advance(1801);
    expect((await one(queue)).job.id).toBe(second);
  });

  it('every delivery takes a token: a retry too, and the backoff is no substitute', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, of('k', HOURLY, { retry_delay_secs: 1, jitter_factor: 0 }));
    await fail(worker, await one(queue));
    await clock.advance(60);
    await until(async () => (await a.get(`/api/v1/jobs/${id}/why`)).body.reason === 'rate_limited');
    await none(queue);
    await clock.advance(3600);
    expect((await one(queue)).job).toMatchObject({ id, delivery_count: 2 });
  });

  it('so does a durable job that goes on after its sleep', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, of('k', HOURLY));
    await suspend(worker, await one(queue), { checkpoint: 'pause', delay_secs: 60 });
    await clock.advance(61);
    await until(async () => (await a.get(`/api/v1/jobs/${id}/why`)).body.reason === 'rate_limited');
    await none(queue);
    await clock.advance(3600);
    expect((await one(queue)).job).toMatchObject({ id, delivery_count: 2 });
  });

  it('gives the token of a job that was cancelled before anybody claimed it to the next', async () => {
    const queue = newQueue();
    const ids = [await createJob(a, queue, of('k', HOURLY)), await createJob(a, queue, of('k', HOURLY))];
    await settled();
    await kit.cancel(a, ids[0]!);
    expect((await one(queue)).job.id).toBe(ids[1]);
    await createJob(a, queue, of('k', HOURLY));
    await none(queue);
  });

  it('holds a changed rate against what waits, within a second', async () => {
    const queue = newQueue();
    for (let n = 0; n < 3; n++) await createJob(a, queue, of('k', { count: 1, per_secs: 86_400 }));
    await one(queue);
    await none(queue);
    // Raised: the day that the old rate would have taken is over.
    const raised = await createJob(a2, queue, of('k', { count: 60, per_secs: 60 }));
    await settled();
    await clock.advance(1.1);
    await one(queue);
    // The next token comes a second after it was seen that the one before was claimed.
    await settled();
    await clock.advance(1.1);
    await one(queue);
    await settled();
    // Lowered.
    const lowered = await createJob(a, queue, of('k', HOURLY));
    await settled();
    await clock.advance(1800);
    await none(queue);
    await clock.advance(1801);
    expect((await one(queue)).job.id).toBe(raised);
    // Taken away.
    const free = await createJob(a, queue, { config: { limits: [{ key: 'k', running: 10 }] } });
    await settled();
    expect(idsOf(await leaseSome(worker, queue, { max_jobs: 100 }))).toEqual([lowered, free]);
  });

  it('goes with a number of running jobs, at the same key and at another', async () => {
    const queue = newQueue();
    const both = { config: { limits: [{ key: 'k', running: 1, rate: { count: 60, per_secs: 60, burst: 2 } }] } };
    const ids = [await createJob(a, queue, both), await createJob(a, queue, both)];
    const first = await one(queue);
    await none(queue);
    expect((await a.get(`/api/v1/jobs/${ids[1]}/why`)).body.reason).toBe('limited');
    await complete(worker, first);
    await complete(worker, await one(queue));
    const two = newQueue();
    const limits = [
      { key: 'user', running: 1 },
      { key: 'partner', rate: HOURLY },
    ];
    await createJob(a, two, { config: { limits: [limits[0]] } });
    const waiting = await createJob(a, two, { config: { limits } });
    const holder = await one(two);
    await none(two);
    // It has waited for its user, and used no token for that.
    await complete(worker, holder);
    expect((await one(two)).job.id).toBe(waiting);
    const next = await createJob(a, two, { config: { limits: [{ key: 'other', running: 1 }, limits[1]] } });
    await none(two);
    expect((await a.get(`/api/v1/jobs/${next}/why`)).body.reason).toBe('rate_limited');
  });

  it('belongs to a tenant and a queue, and nobody waits for a key that is not its own', async () => {
    const [queue, elsewhere] = [newQueue(), newQueue()];
    await createJob(a, queue, of('k', HOURLY));
    await one(queue);
    await createJob(a, queue, of('k', HOURLY));
    const others = [
      await createJob(b, queue, of('k', HOURLY)),
      await createJob(a, queue),
      await createJob(a, queue, of('k2', HOURLY)),
    ];
    const found: string[] = [];
    await until(async () => {
      found.push(...idsOf(await lease(worker, queue, { max_jobs: 100 })));
      return found.length === others.length;
    });
    expect(found.sort()).toEqual(others.sort());
    const far = await createJob(a, elsewhere, of('k', HOURLY));
    expect((await one(elsewhere)).job.id).toBe(far);
  });

  it('lets those of a higher priority in first', async () => {
    const queue = newQueue();
    await createJob(a, queue, of('k', HOURLY));
    await one(queue);
    await createJob(a, queue, of('k', HOURLY));
    const urgent = await createJob(a, queue, of('k', HOURLY, { priority: 5 }));
    await none(queue);
    await clock.advance(3601);
    expect((await one(queue)).job.id).toBe(urgent);
  });

  it('a job that a pool claimed and never started needs another token', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, of('k', HOURLY));
    await one(queue);
    // As a pool leaves it that is killed before it starts the job.
    await database.query(
      `WITH held AS (
         UPDATE millrace.leases SET token = (left(token::text, 32) || '0001')::uuid, locked_until = '2020-01-01'
         WHERE id = $1 RETURNING token
       )
       INSERT INTO millrace.claim_marks (claimed_at, reach, token)
       SELECT now(), 0, (left(token::text, 32) || '0000')::uuid FROM held`,
      [id],
    );
    await until(async () => (await a.get(`/api/v1/jobs/${id}/why`)).body.reason === 'rate_limited');
    expect(await kit.getJob(a, id)).toMatchObject({ status: 'pending', delivery_count: 0, error_message: null });
    await none(queue);
    await clock.advance(3601);
    expect((await one(queue)).job.id).toBe(id);
  });

  it('says when a job may start, and lists the keys with their rates', async () => {
    const queue = newQueue();
    const rate = { count: 6, per_secs: 60 };
    for (let n = 0; n < 2; n++) await createJob(a, queue, of('k', rate));
    await one(queue);
    const last = await createJob(a, queue, of('k', rate));
    await settled();
    const now = (await clock.now()).getTime();
    const { body: why } = await a.get(`/api/v1/jobs/${last}/why`);
    expect(why).toMatchObject({ reason: 'rate_limited', ahead: 1 });
    expect(why.message).toContain('6 per 60 s may start for k; 1 of that key before it');
    expect(Date.parse(why.until) - now).toBeGreaterThan(19_000);
    expect(Date.parse(why.until) - now).toBeLessThan(21_000);
    const expected = { queue, key: 'k', running: 1, limit: null, rate: { ...rate, burst: 1 }, waiting: 2 };
    expect((await a.get(`/api/v1/limits?queue=${queue}`)).body.limits).toMatchObject([expected]);
    expect(await violationsIn(database)).toEqual([]);
  });

  it.each<[object, string]>([
    [{ key: 'k' }, 'config.limits[0].running'],
    [{ key: 'k', running: null, rate: null }, 'config.limits[0].running'],
    [{ key: 'k', rate: { count: 3, per_secs: 1, burst: 4 } }, 'config.limits[0].rate.burst'],
    [{ key: 'k', rate: { count: 0, per_secs: 1 } }, 'config.limits[0].rate.count'],
    [{ key: 'k', rate: { count: 100_001, per_secs: 1 } }, 'config.limits[0].rate.count'],
    [{ key: 'k', rate: { count: 1, per_secs: 86_401 } }, 'config.limits[0].rate.per_secs'],
    [{ key: 'k', rate: { count: 1 } }, 'config.limits[0].rate.per_secs'],
    [{ key: 'k', rate: '1/s' }, 'config.limits[0].rate'],
  ])('refuses %j', async (limit, path) => {
    const { status, body } = await a.post('/api/v1/jobs', { task_name: 't', config: { limits: [limit] } });
    expect(status).toBe(400);
    expect(body.details[0].path).toBe(path);
  });
});
