import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listCronsByDue } from '../../../src/store/lists/list-statements.js';
import { oneDatabase, type TestDatabase } from '../../support/database.js';
import { connectLike, describePlan, explain, walk } from '../jobs/plan-kit.js';

/** Two tenants with thousands of schedules each. */
const FILL = `
  INSERT INTO millrace.crons
    (created_at, next_run_at, enabled, priority, id, tenant, name, expr, task, queue, payload, config)
  SELECT now(), now() + n * interval '7 seconds', n % 10 > 0, 0,
         (millrace.id_prefix(now()) || '8' || lpad(to_hex(n), 15, '0'))::uuid,
         't' || n % 2, n::text, '* * * * *', 'x', 'q', '{}', '{}'
  FROM generate_series(1, 20000) AS n`;

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await oneDatabase();
  await database.query(FILL);
  await database.query('ANALYZE millrace.crons');
  client = await connectLike(database, 'read');
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

it('a page by what fires next walks the index from where the last one ended, and sorts only itself', async () => {
  const [middle] = await database.query<{ id: string; at: string }>(
    `SELECT id, next_run_at::text AS at FROM millrace.crons
     WHERE tenant = 't1' AND enabled ORDER BY id OFFSET 3000 LIMIT 1`,
  );
  const filter = { tenant: 't1', createdAfter: null, createdBefore: null };
  for (const after of [null, middle!, { at: null, id: middle!.id }]) {
    const page = listCronsByDue(filter, { ascending: true, after, limit: 101, offset: 0 });
    const plan = await explain(client, page.statement.text, page.statement.values);
    const walked = [...walk(plan)].filter(({ above }) => above.some((each) => each['Node Type'] === 'Limit'));
    expect(
      walked.map(({ node }) => node['Index Name'] ?? node['Node Type']),
      describePlan(plan),
    ).toEqual(['crons_by_due']);
    if (after) expect(walked[0]!.node['Index Cond'], describePlan(plan)).toMatch(/ROW\(.*\bid\) > /);
  }
});
