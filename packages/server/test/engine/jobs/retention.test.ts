import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { until } from '../../support/until.js';
import {
  cancel,
  complete,
  createJob,
  deadLettersOf,
  fail,
  getJob,
  heartbeat,
  lease,
  leaseOne,
  newQueue,
  report,
} from '../kit.js';

/**
 * Retention runs when a process starts, if it is its turn, and then every minute. A process that starts after the clock
 * was moved by more than that therefore cleans up at once.
 */
describe('retention of one hour', async () => {
  const database = await cloneDatabase();
  /** Where the jobs of the tests are. */
  const home = database.homeOf(TENANT_A);
  const clock = await controlClock(database);
  const config = { mode: 'api' as const, retentionHours: 1 };
  const server = await startTestServer({ database, config: { mode: 'api' } });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  /**
   * One pass to its end: then the turn is kept for the rest that follows, which reaches into the future. Not by now():
   * a query sees what was committed after that instant, and the turn just taken would look kept.
   */
  async function clean(): Promise<void> {
    const cleaner = await startTestServer({ database, config });
    await until(
      async () => {
        const resting = `last_run_at > test_clock.clock_timestamp()`;
        return (await home.query(`SELECT FROM millrace.loops WHERE name = 'retention' AND ${resting}`)).length > 0;
      },
      { what: 'the pass to end' },
    );
    await cleaner.stop();
  }

  const exists = async (id: string): Promise<boolean> => (await a.get(`/api/v1/jobs/${id}`)).status === 200;
  const finished = async (how: 'completed' | 'failed' | 'cancelled', key = ''): Promise<string> => {
    const queue = newQueue();
    const headers: Record<string, string> = key === '' ? {} : { 'idempotency-key': key };
    const { body } = await a.post('/api/v1/jobs', { task_name: 't', config: { queue } }, headers);
    if (how === 'cancelled') await cancel(a, body.job_id);
    else {
      const leased = await leaseOne(worker, queue);
      if (how === 'completed') await complete(worker, leased);
      else await fail(worker, leased, { retryable: false });
    }
    return body.job_id as string;
  };

  it('removes every kind of job that ended before the window, and keeps what ended within it', async () => {
    const old = await Promise.all((['completed', 'failed', 'cancelled'] as const).map((how) => finished(how)));
    await clock.advance(3_000);
    const recent = await Promise.all((['completed', 'failed', 'cancelled'] as const).map((how) => finished(how)));
    await clock.advance(700);
    await clean();
    expect(await Promise.all(old.map(exists))).toEqual([false, false, false]);
    expect(await Promise.all(recent.map(exists))).toEqual([true, true, true]);
    expect((await a.post(`/api/v1/jobs/${old[0]}/cancel`)).status).toBe(404);
    expect((await a.get(`/api/v1/jobs/${old[0]}/events`)).status).toBe(404);
  });

  it('removes the checkpoints with the job, and with no other', async () => {
    const queue = newQueue();
    const jobs: string[] = [];
    for (const ends of [true, false]) {
      jobs.push(await createJob(a, queue));
      const leased = await leaseOne(worker, queue, { lease_secs: 3_600 });
      await report(worker, 'checkpoints', leased, { name: 'kept', value: 1 });
      if (ends) await complete(worker, leased);
    }
    await clock.advance(3_700);
    await clean();
    const left = await database.query('SELECT job_id FROM millrace.checkpoints ORDER BY job_id');
    expect(left).toEqual([{ job_id: jobs[1] }]);
    expect(await database.query('SELECT job_id FROM millrace.checkpoint_totals')).toEqual(left);
  });

  it('removes the attempts with the job, and with no other', async () => {
    const queue = newQueue();
    const ids: string[] = [];
    for (const how of ['completed', 'failed', 'cancelled', 'kept']) {
      const config = { retry_delay_secs: 0, max_retries: how === 'failed' ? 1 : 3 };
      ids.push(await createJob(a, queue, { config }));
      await fail(worker, await leaseOne(worker, queue));
      const leased = await leaseOne(worker, queue, { lease_secs: 3600 });
      if (how === 'completed') await complete(worker, leased);
      if (how === 'failed') await fail(worker, leased);
      if (how === 'cancelled') await cancel(a, leased.job.id);
      if (how === 'kept') await report(worker, 'release', leased, { delay_secs: 31_536_000 });
    }
    const counts = async (): Promise<number[]> => {
      const rows = await home.query<{ n: number }>(
        `SELECT (SELECT count(*) FROM millrace.attempts WHERE job_id = id)::int AS n
         FROM unnest($1::uuid[]) WITH ORDINALITY AS given (id, place) ORDER BY place`,
        [ids],
      );
      return rows.map(({ n }) => n);
    };
    expect(await counts()).toEqual([1, 2, 2, 2]);
    await clock.advance(3_700);
    await clean();
    expect(await counts()).toEqual([0, 0, 0, 2]);
  });

  it('keeps a dead letter longer than its job; it can be read but not replayed', async () => {
    const [gone, replayed] = [await finished('failed'), await finished('failed')];
    const [[letter], [other]] = [await deadLettersOf(a, gone), await deadLettersOf(a, replayed)];
    expect((await a.post(`/api/v1/dlq/${other!.id}/replay`)).status).toBe(201);
    await clock.advance(3_700);
    await clean();
    expect(await exists(gone)).toBe(false);
    expect((await a.get(`/api/v1/dlq/${letter!.id}`)).body).toEqual({ ...letter, payload_bytes: null });
    expect((await a.post(`/api/v1/dlq/${letter!.id}/replay`)).status).toBe(404);
    // Replayed, and its job gone: "already replayed" takes precedence.
    const again = await a.post(`/api/v1/dlq/${other!.id}/replay`);
    expect([again.status, again.body.code]).toEqual([409, 'already_replayed']);

    await clock.advance(3_700);
    await clean();
    expect((await a.get(`/api/v1/dlq/${letter!.id}`)).status).toBe(404);
  });

  it('never removes a job that has not ended, however old', async () => {
    const [waiting, queue, retrying] = [newQueue(), newQueue(), newQueue()];
    const ids = [
      await createJob(a, waiting),
      await createJob(a, waiting, { run_at: '2999-01-01T00:00:00Z' }),
      await createJob(a, queue),
      await createJob(a, retrying, { config: { retry_delay_secs: 2_592_000, retry_max_delay_secs: 2_592_000 } }),
    ];
    const running = await leaseOne(worker, queue, { lease_secs: 3600 });
    await fail(worker, await leaseOne(worker, retrying));
    for (let i = 0; i < 5; i++) {
      await clock.advance(3_000);
      await heartbeat(worker, running, 3600);
    }
    await clean();
    const statuses = await Promise.all(ids.map(async (id) => (await getJob(a, id)).status));
    expect(statuses).toEqual(['pending', 'pending', 'running', 'retrying']);
    // Its end counts, not its creation.
    expect((await complete(worker, running)).status).toBe(204);
    await clock.advance(120);
    await clean();
    expect((await getJob(a, running.job.id)).status).toBe('completed');
    expect(await lease(worker, waiting, { max_jobs: 10 })).toHaveLength(1);
  });

  it('frees the idempotency key of what it removes', async () => {
    const key = newQueue();
    const first = await finished('completed', key);
    await clock.advance(3_700);
    await clean();
    const { status, body } = await a.post('/api/v1/jobs', { task_name: 't' }, { 'idempotency-key': key });
    expect(status).toBe(201);
    expect(body.job_id).not.toBe(first);
  });

  it('removes more than one batch in one run', async () => {
    const queue = newQueue();
    await database.query(
      `WITH job AS (
         INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
         SELECT at, 0, (millrace.id_prefix(at) || '8000' || lpad(to_hex(n), 12, '0'))::uuid, 'tenant-a', $1, 't', '{}'
         FROM (SELECT test_clock.now() - interval '2 hours' AS at, n FROM generate_series(1, 1600) AS n) AS made
         RETURNING tenant, id, created_at
       )
       INSERT INTO millrace.done (completed_at, retry_count, delivery_count, status, id, tenant)
       SELECT created_at, 0, 0, 'cancelled', id, tenant FROM job`,
      [queue],
    );
    const total = async () => (await a.get(`/api/v1/jobs?queue=${queue}&include_total=true`)).body.total as number;
    expect(await total()).toBe(1600);
    // Longer than a pass ever rests, which depends on how long the one before took.
    await clock.advance(3_700);
    await clean();
    expect(await total()).toBe(0);
  });

  it('is off by default', async () => {
    const old = await finished('completed');
    await clock.advance(1_000_000);
    const keeper = await startTestServer({ database, config: { mode: 'api' } });
    await until(async () => (await keeper.nobody.get('/ready')).status === 200);
    await keeper.stop();
    expect(await exists(old)).toBe(true);
  });
});

it('a process without retention does not stop others from removing jobs', async () => {
  const database = await cloneDatabase();
  const keeper = await startTestServer({ database, config: { mode: 'api' } });
  await until(async () => (await database.query('SELECT FROM millrace.loops')).length > 0, { what: 'its first turn' });
  const id = await createJob(keeper.a, newQueue());
  await cancel(keeper.a, id);
  const cleaner = await startTestServer({ database, config: { mode: 'api', retentionHours: 1e-7 } });
  await until(async () => (await keeper.a.get(`/api/v1/jobs/${id}`)).status === 404, { what: 'the job to be removed' });
  await cleaner.stop();
  await keeper.stop();
  await database.drop();
});
