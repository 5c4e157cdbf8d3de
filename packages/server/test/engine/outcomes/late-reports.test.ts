import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import type { Leased } from '../kit.js';
import { complete, createJob, fail, getJob, heartbeat, leaseOne, newQueue } from '../kit.js';

describe('an expired lease that has not been reclaimed yet', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, config: { mode: 'api' } });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  /** Moves the clock past the lease and acts. If a sweep comes between the two, the answer says so: try again. */
  async function actLate(act: (leased: Leased) => Promise<{ readonly status: number }>): Promise<Leased> {
    for (let tries = 0; tries < 5; tries++) {
      const queue = newQueue();
      await createJob(a, queue, { config: { retry_delay_secs: 86_400, retry_max_delay_secs: 86_400 } });
      const leased = await leaseOne(worker, queue, { lease_secs: 30 });
      await clock.advance(31);
      const { status } = await act(leased);
      if (status < 400) return leased;
      expect(status).toBe(409);
      expect(await getJob(a, leased.job.id)).toMatchObject({ status: 'retrying', error_message: 'lease expired' });
    }
    throw new Error('a sweep came between five times in a row');
  }

  it('is still held: complete is accepted', async () => {
    const { job } = await actLate((leased) => complete(worker, leased, { late: true }));
    expect(await getJob(a, job.id)).toMatchObject({ status: 'completed', result: { late: true }, retry_count: 0 });
  });

  it('is still held: fail is accepted, with its own error', async () => {
    const { job } = await actLate((leased) => fail(worker, leased, { error: 'my own' }));
    expect(await getJob(a, job.id)).toMatchObject({ status: 'retrying', error_message: 'my own', retry_count: 1 });
  });

  it('is still held: a heartbeat revives it', async () => {
    const leased = await actLate((leasedJob) => heartbeat(worker, leasedJob, 3600));
    expect((await complete(worker, leased)).status).toBe(204);
    expect(await getJob(a, leased.job.id)).toMatchObject({ status: 'completed', delivery_count: 1 });
  });
});
