import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase, emptyDatabase, type TestDatabase } from '../../../server/test/support/database.js';
import { environmentOf } from '../../../server/test/support/pooled.js';
import { callMillrace, type Outcome } from '../support/cli.js';

const doctor = (url: string, ...flags: readonly string[]): Promise<Outcome> =>
  callMillrace(['doctor', ...flags], { env: environmentOf({ DATABASE_URL: url }) });

describe('doctor', () => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await cloneDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it('finds nothing wrong with a sound database, and changes nothing', async () => {
    const { code, stdout } = await doctor(database.url);
    expect(stdout).toContain('every invariant holds');
    expect(code).toBe(0);
  });

  it('finds a lost job and a failed job without a dead letter, and exits with 1', async () => {
    await client.query(`INSERT INTO millrace.tenants VALUES ('t', 0)`);
    await client.query(`
      INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
      SELECT now(), 0, (millrace.id_prefix(now()) || '800' || n || '000000000000')::uuid, 't', 'q', 'x', '{}'
      FROM generate_series(1, 2) AS n`);
    await client.query(`
      INSERT INTO millrace.done (completed_at, retry_count, delivery_count, status, id, tenant)
      SELECT now(), 0, 1, 'failed', id, tenant FROM millrace.jobs ORDER BY id LIMIT 1`);
    const { code, stdout } = await doctor(database.url, '--json');
    expect(code).toBe(1);
    const { checks } = JSON.parse(stdout) as { checks: { check: string; violations: number }[] };
    const broken = checks.filter(({ violations }) => violations > 0).map(({ check }) => check);
    expect(broken).toEqual(['job_is_in_one_table', 'failed_job_has_its_dead_letter']);
    expect((await doctor(database.url)).stdout).toContain('FAIL job is in one table: 1');
  });

  it('finds a step whose context is not stored, and a context without its workflow', async () => {
    const id = randomUUID();
    await client.query(
      `INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, workflow_id, step, context)
       VALUES (now(), 0, $1, 't', 'q', 'x', '{}', $1, 's', 3)`,
      [id],
    );
    await client.query(`INSERT INTO millrace.workflow_contexts (workflow_id, version, context) VALUES ($1, 2, '{}')`, [
      id,
    ]);
    const { stdout } = await doctor(database.url);
    expect(stdout).toContain('FAIL step has its context: 1');
    expect(stdout).toContain('FAIL context has its workflow: 1');
  });

  it('finds a job from before a resume that is not there', async () => {
    await client.query(`INSERT INTO millrace.earlier_jobs (run, workflow_id, job_id, step) VALUES (1, $1, $1, 's')`, [
      randomUUID(),
    ]);
    const { stdout } = await doctor(database.url);
    expect(stdout).toContain('FAIL earlier job was set aside: 1');
  });

  it('checks nothing if the schema is of another version', async () => {
    const empty = await emptyDatabase();
    try {
      const { code, stdout } = await doctor(empty.url);
      expect(code).toBe(1);
      expect(stdout).toContain('nothing was checked');
    } finally {
      await empty.drop();
    }
  });
});
