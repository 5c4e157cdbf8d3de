import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import * as kit from '../kit.js';
import {
  complete,
  createJob,
  expireLease,
  fail,
  getJob,
  heartbeat,
  leaseOne,
  newQueue,
  SWEEP_OFTEN,
  waitFor,
} from '../kit.js';
import { leaseNext } from '../waiting.js';

/**
 * No process runs handlers here, so the janitor of an api-only process reclaims. Concurrent: each test waits for a
 * sweep.
 */
describe('leases', async () => {
  const { a, worker, database } = await useTestServer({ config: { mode: 'api' }, intervals: SWEEP_OFTEN });
  const held = async (config: object = {}, lease_secs = 300): Promise<kit.Leased & { queue: string }> => {
    const queue = newQueue();
    await createJob(a, queue, { config });
    return { queue, ...(await leaseOne(worker, queue, { lease_secs })) };
  };

  const heldTooLong = async (config: object = {}): ReturnType<typeof held> => {
    const leased = await held(config);
    await expireLease(database, leased.job.id);
    return leased;
  };

  describe.concurrent('that run out', () => {
    it('send the job through the failure policy, and the old token is worth nothing', async () => {
      const leased = await heldTooLong({ retry_delay_secs: 600, jitter_factor: 0 });
      const job = await waitFor(a, leased.job.id, 'retrying');
      expect(job).toMatchObject({
        retry_count: 1,
        delivery_count: 1,
        error_message: 'lease expired',
        started_at: leased.job.started_at,
        completed_at: null,
      });
      expect(job.next_retry_at).toBe(job.scheduled_at);
      const [row] = await database.query<{ now: Date }>('SELECT now()');
      expect(Date.parse(job.scheduled_at)).toBeGreaterThan(Date.parse(leased.job.started_at!) + 600_000);
      expect(Date.parse(job.scheduled_at)).toBeLessThanOrEqual(row!.now.getTime() + 600_000);
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
      const leased = await heldTooLong({ max_retries: 0 });
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
      const first = await heldTooLong({ retry_delay_secs: 0 });
      const second = await leaseNext(worker, first.queue);
      expect(second.job).toMatchObject({ id: first.job.id, delivery_count: 2, retry_count: 1 });
      expect(second.lease_token).not.toBe(first.lease_token);
      expect((await complete(worker, first, { by: 1 })).status).toBe(409);
      expect((await fail(worker, first)).status).toBe(409);
      expect((await heartbeat(worker, first)).status).toBe(409);
      expect(await getJob(a, first.job.id)).toMatchObject({ status: 'running', delivery_count: 2 });
      expect((await complete(worker, second, { by: 2 })).status).toBe(204);
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
      const [witness, leased] = [await held({ retry_delay_secs: 600 }), await held()];
      expect((await heartbeat(worker, leased, 3600)).body).toEqual({ status: 'running' });
      // Five minutes later the lease without a heartbeat is swept, and so this one would have been.
      const ids = [witness.job.id, leased.job.id];
      await database.query(
        `UPDATE millrace.leases SET locked_until = locked_until - interval '301 seconds' WHERE id = ANY ($1)`,
        [ids],
      );
      await waitFor(a, witness.job.id, 'retrying');
      expect(await getJob(a, leased.job.id)).toMatchObject({ status: 'running', delivery_count: 1 });
      expect((await complete(worker, leased)).status).toBe(204);
    });
  });
});
