import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../src/store/migrations/migrate.js';
import { emptyDatabase, type TestDatabase } from '../support/database.js';
import { schemaText } from './schema-text.js';

const FILE = fileURLToPath(new URL('../../sql/schema.sql', import.meta.url));
const HEAD = `-- The schema as the migrations leave it. Nothing applies this file: it shows in a review what a migration changes.
-- Written by \`npm run schema\`; a test compares.

`;

async function database(): Promise<TestDatabase> {
  const empty = await emptyDatabase();
  onTestFinished(() => empty.drop());
  return empty;
}

async function migrated(): Promise<string> {
  const fresh = await database();
  await migrate(fresh.url);
  return schemaText(fresh);
}

describe('sql/schema.sql', () => {
  it('is what the migrations make of an empty database', async () => {
    const text = HEAD + (await migrated());
    await expect(text, 'sql/schema.sql is stale: npm run schema').toMatchFileSnapshot(FILE);
  });

  it('is SQL that makes the same schema', async () => {
    const text = await migrated();
    const executed = await database();
    await executed.query('CREATE SCHEMA millrace');
    await executed.query(text);
    expect(await schemaText(executed)).toBe(text);
  });

  it('would not pass over what it cannot describe', async () => {
    const fresh = await database();
    await migrate(fresh.url);
    await fresh.query('CREATE MATERIALIZED VIEW millrace.job_count AS SELECT count(*) FROM millrace.jobs');
    await expect(schemaText(fresh)).rejects.toThrow('not described: relation job_count of kind m');
  });
});
