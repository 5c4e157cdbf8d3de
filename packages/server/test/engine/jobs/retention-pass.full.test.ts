import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { RetentionPass } from '../../../src/engine/jobs/retention-pass.js';
import { Database } from '../../../src/store/connection/database.js';
import { oneDatabase } from '../../support/database.js';

const TENANTS = 5_000;

/** Of each tenant: two that are to go, one that ended within the window, one of a workflow that still runs. */
const FILL = `
  TRUNCATE millrace.tenants, millrace.jobs, millrace.done, millrace.idempotency_keys, millrace.dead_letters,
           millrace.workflows, millrace.workflow_ends;
  INSERT INTO millrace.tenants SELECT 'tenant-' || lpad(n::text, 6, '0'), n FROM generate_series(1, ${TENANTS}) AS n;
  CREATE TEMP TABLE made AS
    SELECT t.tenant, kind.*, now() - interval '3 hours' AS created_at,
           (millrace.id_prefix(now() - interval '3 hours') || '8' || lpad(to_hex(t.bucket * 10 + kind.k), 15, '0'))::uuid AS id
    FROM millrace.tenants t, (VALUES
      (1, 'completed', interval '2 hours', false), (2, 'cancelled', interval '2 hours', false),
      (3, 'completed', interval '1 minute', false), (4, 'failed', interval '2 hours', true)
    ) AS kind (k, status, ended, in_workflow);
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, workflow_id, step, idempotency_key)
    SELECT created_at, 0, id, tenant, 'q', 't', '{}', CASE WHEN in_workflow THEN id END,
           CASE WHEN in_workflow THEN 's' END, CASE WHEN k = 1 THEN 'key' END FROM made;
  INSERT INTO millrace.done (completed_at, retry_count, delivery_count, status, id, tenant, result)
    SELECT now() - ended, 0, 0, status::millrace.job_status, id, tenant, CASE status WHEN 'completed' THEN '{}'::json END
    FROM made;
  INSERT INTO millrace.idempotency_keys SELECT tenant, 'key', id FROM made WHERE k = 1;
  INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task)
    SELECT now() - age, gen_random_uuid(), 'non_retryable', tenant, 'q', 't'
    FROM millrace.tenants, (VALUES (interval '110 minutes'), (interval '130 minutes')) AS letter (age);
  INSERT INTO millrace.workflows (created_at, id, tenant, name, definition)
    SELECT created_at, id, tenant, 'w', '[]' FROM made WHERE k = 1;
  INSERT INTO millrace.workflow_ends (completed_at, status, id, tenant, state, context)
    SELECT now() - interval '2 hours', 'completed', id, tenant, 'x', '{}' FROM made WHERE k = 1;
  DROP TABLE made`;

describe('a pass of retention over thousands of tenants', async () => {
  const database = await oneDatabase();
  const db = new Database({ url: database.url, maxConnections: 3, logger: pino({ enabled: false }) });
  beforeEach(() => database.query(FILL));
  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  const left = async (table: string): Promise<number> =>
    (await database.query<{ n: number }>(`SELECT count(*)::int AS n FROM millrace.${table}`))[0]!.n;

  /** The same database, whose statements are counted, and fail where the test says so. */
  function counted(fails: (n: number) => boolean = () => false): { db: Database; count: () => number } {
    let n = 0;
    const run: Database['run'] = async (statement) => {
      n++;
      if (fails(n)) throw new Error('lost');
      return db.run(statement);
    };
    return { db: { run } as Database, count: () => n };
  }

  it('removes what is to go, and nothing else', async () => {
    const pass = new RetentionPass(db, 1);
    while (!pass.isOver) await pass.step();
    const durable = { durableJobs: 0, loggedJobs: 0, parents: 0 };
    expect(pass.removed).toEqual({ workflows: TENANTS, jobs: 2 * TENANTS, deadLetters: TENANTS, ...durable });
    // The jobs are an hour beyond the window; what this test takes comes on top.
    expect(pass.overdueSecs).toBeGreaterThan(3_599);
    expect(pass.overdueSecs).toBeLessThan(7_200);
    expect(await left('jobs')).toBe(2 * TENANTS);
    expect(await left('done')).toBe(2 * TENANTS);
    expect(await left('idempotency_keys')).toBe(0);
    expect(await left('dead_letters')).toBe(TENANTS);
    expect(await left('workflows')).toBe(0);
    const kept = await database.query(`SELECT FROM millrace.jobs j JOIN millrace.done d USING (tenant, id)
      WHERE j.workflow_id IS NOT NULL OR d.completed_at > now() - interval '1 hour'`);
    expect(kept).toHaveLength(2 * TENANTS);

    const again = new RetentionPass(db, 1);
    while (!again.isOver) await again.step();
    expect(again.foundNothing).toBe(true);
  });

  it('takes as many statements as there are rows and slices, not more with every tenant', async () => {
    const { db: watched, count } = counted();
    const pass = new RetentionPass(watched, 1);
    while (!pass.isOver) await pass.step();
    // A thousand at a time: 5,000 workflows, 20,000 jobs, 5,000 letters; and three slices for each of the three kinds.
    expect(count()).toBeLessThanOrEqual(5 + 20 + 5 + 9);
  });

  it('removes large workflows some at a time', async () => {
    await database.query(`UPDATE millrace.workflow_ends SET state = repeat('x', 1000)`);
    await database.query(`DELETE FROM millrace.workflow_ends WHERE tenant > 'tenant-000100'`);
    const { db: watched, count } = counted();
    const pass = new RetentionPass(watched, 1);
    while (pass.removed.jobs === 0) await pass.step();
    expect(pass.removed.workflows).toBe(100);
    // Five thousand steps per statement are 20 statements; and three for the slices that follow; one has begun with
    // jobs.
    expect(count()).toBeGreaterThanOrEqual(20);
    expect(count()).toBeLessThanOrEqual(20 + 3 + 1);
  });

  it('goes on where a failure stopped it', async () => {
    const whole = counted();
    const pass = new RetentionPass(whole.db, 1);
    while (!pass.isOver) await pass.step();
    await database.query(FILL);
    const failing = counted((n) => n === 12);
    const broken = new RetentionPass(failing.db, 1);
    for (let failures = 0; !broken.isOver;) {
      await broken.step().catch(() => failures++);
      expect(failures).toBeLessThanOrEqual(1);
    }
    expect(broken.removed).toEqual(pass.removed);
    expect(failing.count()).toBe(whole.count() + 1);
  });
});
