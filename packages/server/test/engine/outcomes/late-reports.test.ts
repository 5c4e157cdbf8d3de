import { afterAll, describe, expect, it } from 'vitest';
import type { Reply } from '../../support/client.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import type { Leased } from '../kit.js';
import { complete, createJob, fail, getJob, heartbeat, leaseOne, newQueue, NO_SWEEPS } from '../kit.js';

describe('an expired lease that has not been reclaimed yet', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, config: { mode: 'api' }, intervals: NO_SWEEPS });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  /** Acts when the clock is past the lease. */
  async function actLate(act: (leased: Leased) => Promise<Reply>): Promise<Leased> {
    const queue = newQueue();
    await createJob(a, queue, { config: { retry_delay_secs: 86_400, retry_max_delay_secs: 86_400 } });
    const leased = await leaseOne(worker, queue, { lease_secs: 30 });
    await clock.advance(31);
    const { status, text } = await act(leased);
    expect(status, text).toBeLessThan(300);
    return leased;
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
