import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../support/clock.js';
import { cloneDatabase } from '../support/database.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { createJob, expireLease, getJob, leaseOne, SWEEP_OFTEN, waitFor } from '../engine/kit.js';

/** Seconds of the pool's own lease, most of which the clock jumps over. */
const JUMP_SECS = 18;

describe('a handler that runs longer than the lease of the pool', async () => {
  let finish = (): void => undefined;
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  // Leases run out when the test says so, not while this machine is held up.
  await clock.freeze();
  const server = await startTestServer({
    database,
    handlers: { hold: () => new Promise((resolve) => (finish = () => resolve({}))) },
    intervals: SWEEP_OFTEN,
  });
  const { a } = server;
  afterAll(async () => {
    finish();
    await server.stop();
    await database.drop();
  });

  it('keeps its job: the pool sends heartbeats of its own', async () => {
    const deadline = async (id: string): Promise<number> => {
      const [row] = await database.query<{ secs: number }>(
        `SELECT extract(epoch FROM locked_until - test_clock.now())::float8 AS secs FROM millrace.leases WHERE id = $1`,
        [id],
      );
      return row!.secs;
    };
    const id = await createJob(a, 'default', { task_name: 'hold', config: { retry_delay_secs: 3_600 } });
    await waitFor(a, id, 'running');
    await clock.advance(JUMP_SECS);
    await until(async () => (await deadline(id)) > 25, { what: 'the lease to be extended' });
    await clock.advance(JUMP_SECS);

    // More than a lease after the claim, a sweep takes the lease of a worker that sends none, and not this one.
    const started = Date.parse((await getJob(a, id)).started_at!);
    expect((await clock.now()).getTime() - started).toBeGreaterThan(30_000);
    await createJob(a, 'elsewhere', { config: { max_retries: 0 } });
    const { job } = await leaseOne(server.worker, 'elsewhere', { lease_secs: 1 });
    await expireLease(database, job.id);
    await waitFor(a, job.id, 'failed');
    expect(await getJob(a, id)).toMatchObject({ status: 'running', delivery_count: 1, retry_count: 0 });
    finish();
    expect(await waitFor(a, id, 'completed')).toMatchObject({ delivery_count: 1, retry_count: 0, error_message: null });
  });
});
