import { afterAll, describe, expect, it } from 'vitest';
import { EVERY_BUCKET, evenRanges } from '../../../src/domain/cells.js';
import { bucketOf } from '../../../src/domain/ids.js';
import { startServer } from '../../../src/server.js';
import { Database } from '../../../src/store/connection/database.js';
import { holdRange, storedRange } from '../../../src/store/migrations/cell-range.js';
import { SchemaError } from '../../../src/store/migrations/migrate.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { createClient } from '../../support/client.js';
import { cloneDatabase, type TestDatabase } from '../../support/database.js';
import { connectionOf } from '../../support/pooled.js';
import { KEY_A, TENANT_A, testConfig } from '../../support/server.js';

/** Which tenants belong to a database. */
const logger = createLogger({ level: 'silent', format: 'json' });
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

async function opened(): Promise<{ readonly database: TestDatabase; readonly db: Database }> {
  const database = await cloneDatabase();
  const db = new Database({ ...connectionOf(database.url), maxConnections: 2, logger });
  closing.push(async () => {
    await db.close();
    await database.drop();
  });
  return { database, db };
}
const [LOW, HIGH] = evenRanges(2) as [typeof EVERY_BUCKET, typeof EVERY_BUCKET];
const tenantIn = ({ first, last }: typeof EVERY_BUCKET): string => {
  for (let n = 0; ; n++) {
    const bucket = bucketOf(`tenant-${n}`);
    if (bucket >= first && bucket <= last) return `tenant-${n}`;
  }
};
const register = (database: TestDatabase, tenant: string): Promise<unknown> =>
  database.query('INSERT INTO millrace.tenants (tenant, bucket) VALUES ($1, $2)', [tenant, bucketOf(tenant)]);

describe('the range of a database', () => {
  it('is everything at first, becomes narrower, and never wider again', async () => {
    const { db } = await opened();
    expect(await storedRange(db)).toEqual(EVERY_BUCKET);
    await holdRange(db, EVERY_BUCKET);
    await holdRange(db, LOW);
    expect(await storedRange(db)).toEqual(LOW);
    await holdRange(db, LOW);
    await expect(holdRange(db, EVERY_BUCKET)).rejects.toThrow(
      'holds the buckets 0-32767 only: it is one cell of several',
    );
    await expect(holdRange(db, HIGH)).rejects.toThrow('and is listed with 32768-65535');
    await expect(holdRange(db, HIGH)).rejects.toThrow(SchemaError);
    expect(await storedRange(db)).toEqual(LOW);
  });

  it('does not become narrower past a tenant that is there', async () => {
    const { database, db } = await opened();
    await register(database, tenantIn(HIGH));
    await expect(holdRange(db, LOW)).rejects.toThrow('has tenants outside of 0-32767, which it is listed with');
    expect(await storedRange(db)).toEqual(EVERY_BUCKET);
    await holdRange(db, HIGH);
  });

  it('lets no tenant of another one begin there, whoever registers it', async () => {
    const { database, db } = await opened();
    await holdRange(db, LOW);
    await register(database, tenantIn(LOW));
    await expect(register(database, tenantIn(HIGH))).rejects.toThrow(
      /the tenant is of another cell: its bucket is \d+, this database holds 0 to 32767/,
    );
  });

  it('has one row', async () => {
    const { database } = await opened();
    await expect(database.query('INSERT INTO millrace.cell (first_bucket, last_bucket) VALUES (0, 1)')).rejects.toThrow(
      /duplicate key/,
    );
    await expect(database.query('UPDATE millrace.cell SET last_bucket = 65536')).rejects.toThrow(/check constraint/);
  });
});

describe('a service', () => {
  it('does not start alone on a database that is one of several', async () => {
    const { database, db } = await opened();
    await holdRange(db, LOW);
    await expect(startServer(testConfig(database.url), { logger })).rejects.toThrow(/it is one cell of several/);
  });

  it('refuses jobs of a tenant that does not belong to its database, rather than keep them there', async () => {
    const { database } = await opened();
    const server = await startServer(testConfig(database.url, { mode: 'api' }), { logger });
    try {
      const bucket = bucketOf(TENANT_A);
      await database.query('UPDATE millrace.cell SET first_bucket = $1, last_bucket = $1', [
        bucket === 0 ? 1 : bucket - 1,
      ]);
      const { status } = await createClient(server.apiUrl!, KEY_A).post('/api/v1/jobs', { task_name: 't' });
      expect(status).toBeGreaterThanOrEqual(500);
      expect(await database.query('SELECT FROM millrace.jobs')).toEqual([]);
    } finally {
      await server.stop();
    }
  });
});
