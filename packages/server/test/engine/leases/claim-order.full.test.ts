import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadStatements, type Statement } from '../../../src/store/sql.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { createSilently } from '../silent.js';
import { cancel, createJob, getJob, idsOf, lease, newQueue } from '../kit.js';
import { connectLike } from '../jobs/plan-kit.js';
import { leaseNext } from '../waiting.js';

/**
 * What waits for its instant stands apart from what can be claimed. Nobody may notice, except by how quick claims are.
 */
describe('jobs that wait for their instant', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, config: { mode: 'api' } });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  /** An instant that comes when the test lets it. */
  const inAnHour = async (): Promise<string> => new Date((await clock.now()).getTime() + 3_600_000).toISOString();
  const anHourLater = (): Promise<void> => clock.advance(3_600);

  it('are claimed by priority with all others once they are due, one at a time or together', async () => {
    for (const max_jobs of [1, 3, 100]) {
      const queue = newQueue();
      const due = await inAnHour();
      const [low, high, middle] = await Promise.all(
        [1, 9, 5].map((priority) => createJob(a, queue, { run_at: due, config: { priority } })),
      );
      const plain = await createJob(a, queue, { config: { priority: 5 } });
      const next = await createJob(a, queue, { config: { priority: 3 } });
      await anHourLater();
      const order: string[] = [];
      while (order.length < 5) order.push(...idsOf(await lease(worker, queue, { max_jobs })));
      expect(order, `in leases of ${max_jobs}`).toEqual([high, plain, middle, next, low]);
    }
  });

  it('do not wait behind many others of low priority that fell due before', async () => {
    const queue = newQueue();
    const due = await inAnHour();
    const jobs = Array.from({ length: 60 }, () => ({ task_name: 'task', run_at: due, config: { queue } }));
    expect((await a.post('/api/v1/jobs/batch', { jobs })).status).toBe(201);
    const urgent = await createJob(a, queue, { run_at: due, config: { priority: 9 } });
    await anHourLater();
    expect(idsOf(await lease(worker, queue))).toEqual([urgent]);
  });

  it('are not early, nor late, when a server of an earlier version put them in claim order', async () => {
    const queue = newQueue();
    const id = await createSilently(database, queue, { dueMinutesAgo: -2 / 60 });
    const { scheduled_at } = await getJob(a, id);
    const leased = await leaseNext(worker, queue);
    expect(leased.job.id).toBe(id);
    expect(Date.parse(leased.job.started_at!)).toBeGreaterThanOrEqual(Date.parse(scheduled_at));
  });

  it('can be cancelled before and after their instant, and after they moved into claim order', async () => {
    const queue = newQueue();
    const due = await inAnHour();
    const [first, second, third] = await Promise.all(
      [9, 2, 1].map((priority) => createJob(a, queue, { run_at: due, config: { priority } })),
    );
    const never = await createJob(a, queue, { run_at: '2999-01-01T00:00:00Z' });
    expect((await cancel(a, never)).status).toBe(204);
    await anHourLater();
    expect((await cancel(a, third!)).status).toBe(204);
    expect(idsOf(await lease(worker, queue))).toEqual([first]);
    expect((await cancel(a, second!)).status).toBe(204);
    expect(await lease(worker, queue)).toEqual([]);
  });
});

interface Plan {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

/** In pages that are looked at, which a busy machine does not change. */
describe('the work of a claim', () => {
  const sql = loadStatements('leases/claim.sql');
  const MANY = 20_000;
  let database: TestDatabase;
  let hot: pg.Client;
  beforeAll(async () => {
    database = await cloneDatabase();
    hot = await connectLike(database, 'run');
  });
  afterAll(async () => {
    await hot.end();
    await database.drop();
  });

  /** Each a job, by SQL over n from 1. */
  const fill = (queue: string, count: number, priority: string, seconds: string): Promise<unknown> =>
    database.query(
      `WITH job AS (
         INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
         SELECT now(), ${priority}, gen_random_uuid(), 'tenant', $1, 'task', '{}'
         FROM generate_series(1, ${count}) AS n RETURNING *
       )
       INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later)
       SELECT created_at + ${seconds} * interval '1 second', priority, 0, 0, id, tenant, queue,
              CASE WHEN ${seconds} > 0 THEN true END
       FROM job`,
      [queue],
    );

  /** Pages that the statement looked at, of all tables together; then as if it had never run. */
  async function pages({ text, values }: Statement): Promise<number> {
    const literals = values.map((value) => (typeof value === 'string' ? `'${value}'` : 'NULL')).join(', ');
    await hot.query(`PREPARE measured AS ${text}`);
    await hot.query('BEGIN');
    const { rows } = await hot.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE measured(${literals})`,
    );
    await hot.query('ROLLBACK');
    await hot.query('DEALLOCATE measured');
    const { 'Shared Hit Blocks': hits, 'Shared Read Blocks': reads } = rows[0]!['QUERY PLAN'][0].Plan;
    return hits + reads;
  }

  const claimOf = (queue: string, n = 100): Promise<number> => {
    const list = (each: (k: number) => string): string => `{${Array.from({ length: n }, (_, k) => each(k)).join()}}`;
    const tokens = list((k) => `00000000-0000-4000-8000-${String(k).padStart(12, '0')}`);
    const secs = list(() => '30');
    return pages(
      sql.claim_for_workers({
        queue,
        floor_priorities: null,
        floor_instants: null,
        tokens,
        secs,
        max_jobs: n,
        max_bytes: 1e9,
        later_floor: '-infinity',
        workers: null,
        gate_held: false,
        known_contexts: null,
      }),
    );
  };

  const nextDueOf = (queue: string): Promise<number> => pages(sql.next_due({ queues: `{"${queue}"}` }));

  it.each([
    { what: 'as many priorities in the future', priority: 'n', seconds: '3600' },
    { what: 'as many priorities that are due', priority: '-n', seconds: '0' },
    { what: 'as many jobs of its own priority in the future', priority: '0', seconds: '3600' },
  ])('is the same beside $what', async ({ what, priority, seconds }) => {
    const [alone, beside] = [`alone: ${what}`, `beside: ${what}`];
    for (const queue of [alone, beside]) await fill(queue, 1_000, '0', '0');
    await fill(beside, MANY, priority, seconds);
    await database.query('VACUUM ANALYZE millrace.ready');
    const [claim, due] = [await claimOf(alone), await nextDueOf(alone)];
    expect(await claimOf(beside)).toBeLessThan(claim * 1.5);
    expect(await nextDueOf(beside)).toBeLessThanOrEqual(due + 4);
  });
});
