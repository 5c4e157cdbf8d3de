import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { complete, createJob, deadLettersOf, fail, getJob, lease, leaseOne, newQueue } from '../kit.js';

describe('retries', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  // No retry falls due before the clock says so.
  await clock.freeze();
  const server = await startTestServer({ database, config: { mode: 'api' } });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  /** Fails the next attempt; returns the least and the most seconds from the failure to the retry. */
  async function failOnce(queue: string): Promise<{ readonly atLeast: number; readonly atMost: number }> {
    const leased = await leaseOne(worker, queue);
    const before = await clock.now();
    expect((await fail(worker, leased)).status).toBe(204);
    const after = await clock.now();
    const { scheduled_at, next_retry_at, status } = await getJob(a, leased.job.id);
    expect([status, next_retry_at]).toEqual(['retrying', scheduled_at]);
    const at = Date.parse(scheduled_at);
    return { atLeast: (at - after.getTime()) / 1000 - 0.001, atMost: (at - before.getTime()) / 1000 + 0.001 };
  }

  it.each([
    ['exponential', [10, 20, 40, 55]],
    ['linear', [10, 20, 30, 40]],
    ['fixed', [10, 10, 10, 10]],
  ] as const)('%s: waits as configured, up to the cap, and is not claimable earlier', async (retry_backoff, delays) => {
    const queue = newQueue();
    const config = {
      retry_backoff,
      retry_delay_secs: 10,
      retry_max_delay_secs: 55,
      jitter_factor: 0,
      max_retries: 9,
    };
    const id = await createJob(a, queue, { config });
    for (const [n, delay] of delays.entries()) {
      const { atLeast, atMost } = await failOnce(queue);
      expect(atLeast).toBeLessThanOrEqual(delay);
      expect(atMost).toBeGreaterThanOrEqual(delay);
      expect((await getJob(a, id)).retry_count).toBe(n + 1);
      expect(await lease(worker, queue)).toEqual([]);
      await clock.advance(delay);
    }
    const last = await leaseOne(worker, queue);
    expect(last.job).toMatchObject({ status: 'running', next_retry_at: null, error_message: 'broken' });
    expect((await complete(worker, last)).status).toBe(204);
    expect(await getJob(a, id)).toMatchObject({
      status: 'completed',
      retry_count: 4,
      delivery_count: 5,
      next_retry_at: null,
      error_message: 'broken',
    });
  });

  it('jitter spreads the delays around the cap, below and above it', async () => {
    const delays: number[] = [];
    for (let i = 0; i < 30; i++) {
      const queue = newQueue();
      await createJob(a, queue, { config: { retry_delay_secs: 500, retry_max_delay_secs: 100, jitter_factor: 0.5 } });
      const { atLeast, atMost } = await failOnce(queue);
      expect(atMost).toBeGreaterThanOrEqual(50);
      expect(atLeast).toBeLessThanOrEqual(150);
      delays.push(atLeast);
    }
    // Thirty uniform draws are all on one side of the middle once in 500 million runs.
    expect(Math.min(...delays)).toBeLessThan(100);
    expect(Math.max(...delays)).toBeGreaterThan(100);
    expect(new Set(delays.map((delay) => delay.toFixed(2))).size).toBeGreaterThan(20);
  });

  it('three retries make four deliveries, then one dead letter', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { max_retries: 3, retry_delay_secs: 0 } });
    for (let delivery = 1; delivery <= 4; delivery++) {
      const leased = await leaseOne(worker, queue);
      expect(leased.job).toMatchObject({ id, delivery_count: delivery, retry_count: delivery - 1 });
      expect(await deadLettersOf(a, id)).toEqual([]);
      expect((await fail(worker, leased, { error: `failure ${delivery}` })).status).toBe(204);
    }
    expect(await lease(worker, queue)).toEqual([]);
    expect(await getJob(a, id)).toMatchObject({
      status: 'failed',
      retry_count: 3,
      delivery_count: 4,
      error_message: 'failure 4',
      next_retry_at: null,
    });
    expect(await deadLettersOf(a, id)).toMatchObject([{ reason: 'max_attempts_exceeded', error_message: 'failure 4' }]);
  });

  it('no retries means a single attempt', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { max_retries: 0 } });
    await fail(worker, await leaseOne(worker, queue));
    expect(await getJob(a, id)).toMatchObject({ status: 'failed', retry_count: 0, delivery_count: 1 });
    expect(await deadLettersOf(a, id)).toHaveLength(1);
  });

  it('next_retry_at is set while retrying and at no other time', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0, max_retries: 1 } });
    const seen: [string, boolean][] = [];
    const look = async (): Promise<void> => {
      const { status, next_retry_at, scheduled_at } = await getJob(a, id);
      if (next_retry_at !== null) expect(next_retry_at).toBe(scheduled_at);
      seen.push([status, next_retry_at !== null]);
    };
    await look();
    const first = await leaseOne(worker, queue);
    await look();
    await fail(worker, first);
    await look();
    const second = await leaseOne(worker, queue);
    await look();
    await fail(worker, second);
    await look();
    expect(seen).toEqual([
      ['pending', false],
      ['running', false],
      ['retrying', true],
      ['running', false],
      ['failed', false],
    ]);
  });

  it('a zero delay makes the job claimable at once', async () => {
    const queue = newQueue();
    await createJob(a, queue, { config: { retry_delay_secs: 0, max_retries: 1000 } });
    for (let i = 1; i <= 20; i++) {
      const leased = await leaseOne(worker, queue);
      expect(leased.job.delivery_count).toBe(i);
      await fail(worker, leased);
    }
  });
});
