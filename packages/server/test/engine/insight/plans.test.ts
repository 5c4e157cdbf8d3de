import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type pg from 'pg';
import { BOUNDED_SETTINGS } from '../../../src/store/connection/session.js';
import { loadStatements } from '../../../src/store/sql.js';
import { oneDatabase, type TestDatabase } from '../../support/database.js';
import { connectLike, describePlan, fill, genericPlan, walk } from '../jobs/plan-kit.js';

/** No index by tenant: there are only as many as all workers hold. */
const HELD = ['leases', 'bundles'];

/** Counts and plots share one plan, made without looking at who asks. It must not depend on how much there is. */
describe('the one plan of', () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await oneDatabase();
    await fill(database, 3_000);
    await database.query(`
      INSERT INTO millrace.series
        (at, created, completed, failed, retried, cancelled, step, tenant, queue, task, waits, runs)
      SELECT now() - n * interval '1 hour', 1, 1, 0, 0, 0, 3600, 'tenant-' || t, '', '', '{1}', '{1}'
      FROM generate_series(1, 100) AS n, generate_series(1, 50) AS t`);
    await database.query('ANALYZE');
    client = await connectLike(database, 'read');
    for (const [name, value] of BOUNDED_SETTINGS) await client.query(`SET ${name} = ${value}`);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each([loadStatements('insight/counts.sql').counts, loadStatements('insight/series.sql').series_of])(
    '$name finds its rows by index, and sorts no table',
    async (statement) => {
      const plan = await genericPlan(client, statement);
      for (const { node } of walk(plan)) {
        const { 'Node Type': type, 'Relation Name': table } = node;
        if (HELD.includes(table ?? '')) continue;
        if (table !== undefined) expect(type, describePlan(plan)).toMatch(/^Index (Only )?Scan$/);
        if (node['Index Name'] !== undefined) expect(node['Index Cond'], describePlan(plan)).toContain('tenant');
        expect(type).not.toMatch(/^Bitmap|^Hash Join|Sort$/);
      }
    },
  );
});
