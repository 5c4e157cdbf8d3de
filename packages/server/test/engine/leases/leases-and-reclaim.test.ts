import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import * as kit from '../kit.js';
import { complete, createJob, fail, getJob, heartbeat, leaseOne, newQueue, waitFor } from '../kit.js';

/** A sweep every five seconds, and time for a slow machine to do it. */
const SWEPT_MS = 15_000;

/**
 * No process runs handlers here, so the janitor of an api-only process reclaims (9). Concurrent: each test waits
 * for a sweep.
 */
describe('leases', async () => {
  const { a, worker } = await useTestServer({ config: { mode: 'api' } });
  const held = async (config: object = {}, lease_secs = 1): Promise<kit.Leased & { queue: string }> => {
    const queue = newQueue();
    await createJob(a, queue, { config });
    return { queue, ...(await leaseOne(worker, queue, { lease_secs })) };
  };

  describe.concurrent('that run out', () => {
    it('send the job through the failure policy, and the old token is worth nothing', async () => {
      const leased = await held({ retry_delay_secs: 600, jitter_factor: 0 });
      const job = await waitFor(a, leased.job.id, 'retrying');
      expect(job).toMatchObject({
        retry_count: 1,
        delivery_count: 1,
        error_message: 'lease expired',
        started_at: leased.job.started_at,
        completed_at: null,
      });
      expect(job.next_retry_at).toBe(job.scheduled_at);
      const backoffSecs = (Date.parse(job.scheduled_at) - Date.parse(leased.job.started_at!)) / 1000;
      expect(backoffSecs).toBeGreaterThan(600);
      expect(backoffSecs).toBeLessThan(600 + SWEPT_MS / 1000);
      for (const reply of [
        await heartbeat(worker, leased),
        await complete(worker, leased),
        await fail(worker, leased),
      ]) {
        expect([reply.status, reply.body.code]).toEqual([409, 'lease_lost']);
      }
      expect(await getJob(a, leased.job.id)).toEqual(job);
    });

    it('end the job with a dead letter when no retry is left', async () => {
      const leased = await held({ max_retries: 0 });
      const job = await waitFor(a, leased.job.id, 'failed');
      expect(job).toMatchObject({ retry_count: 0, delivery_count: 1, error_message: 'lease expired' });
      expect(await kit.deadLettersOf(a, job.id)).toMatchObject([
        { reason: 'max_attempts_exceeded', error_message: 'lease expired' },
      ]);
      // A finished job takes any report without effect.
      expect((await complete(worker, leased)).status).toBe(204);
      expect((await heartbeat(worker, leased)).body).toEqual({ status: 'failed' });
      expect((await getJob(a, job.id)).status).toBe('failed');
    });

    it('belong to the next worker alone', async () => {
      const first = await held({ retry_delay_secs: 0 });
      const [second] = await kit.lease(worker, first.queue, { wait_secs: 20, lease_secs: 60 });
      expect(second!.job).toMatchObject({ id: first.job.id, delivery_count: 2, retry_count: 1 });
      expect(second!.lease_token).not.toBe(first.lease_token);
      expect((await complete(worker, first, { by: 1 })).status).toBe(409);
      expect((await fail(worker, first)).status).toBe(409);
      expect((await heartbeat(worker, first)).status).toBe(409);
      expect(await getJob(a, first.job.id)).toMatchObject({ status: 'running', delivery_count: 2 });
      expect((await complete(worker, second!, { by: 2 })).status).toBe(204);
      expect((await complete(worker, first, { by: 1 })).status).toBe(204);
      expect(await getJob(a, first.job.id)).toMatchObject({ status: 'completed', result: { by: 2 } });
    });

    it('run out as a heartbeat says, which counts from now and may be sooner', async () => {
      const leased = await held({ retry_delay_secs: 600 }, 3600);
      expect((await heartbeat(worker, leased, 1)).body).toEqual({ status: 'running' });
      const job = await waitFor(a, leased.job.id, 'retrying');
      expect(job.error_message).toBe('lease expired');
    });

    it('do not run out while a worker sends heartbeats', async () => {
      const witness = await held({ retry_delay_secs: 600 });
      const leased = await held({}, 2);
      // Until another lease of a second has been swept, and so this one would have been.
      await until(
        async () => {
          expect((await heartbeat(worker, leased, 2)).body).toEqual({ status: 'running' });
          return (await getJob(a, witness.job.id)).status === 'retrying';
        },
        { everyMs: 300 },
      );
      expect(await getJob(a, leased.job.id)).toMatchObject({ status: 'running', delivery_count: 1 });
      expect((await complete(worker, leased)).status).toBe(204);
    });
  });
});
