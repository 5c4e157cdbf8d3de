import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbedded } from '../../src/embedded/index.js';
import { migrate } from '../../src/store/migrations/migrate.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { databaseUrl, TEMPLATE } from './database-url.js';
import { startPgBouncer, type PgBouncer } from './pgbouncer.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The PostgreSQL of this run, as a role that may create databases. */
    readonly adminUrl: string;
    /** The PgBouncer in front of it, if the run goes through one. */
    readonly poolerPort: number | null;
  }
}

/** A crash of this server costs only the test run, so nothing waits for the disk. */
const FAST = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_wal_size: '2GB',
  // Shared out among the hundreds of databases of a run, each of which would have a worker started for it.
  autovacuum_naptime: '600s',
};

/** One PostgreSQL for the whole run, with a migrated template that every test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  const log = createLogger({ level: 'warn', format: 'json' });
  const embedded = await startEmbedded({ dir, log, settings: FAST });
  let pooler: PgBouncer | null = null;
  const teardown = async (): Promise<void> => {
    await pooler?.stop();
    await embedded.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    const admin = new pg.Client({ connectionString: embedded.url });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${TEMPLATE}`);
    await admin.end();
    await migrate(databaseUrl(embedded.url, TEMPLATE));
    if (process.env.MILLRACE_TEST_POOLER === 'pgbouncer') pooler = await startPgBouncer(embedded.url);
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide('adminUrl', embedded.url);
  project.provide('poolerPort', pooler?.port ?? null);
  return teardown;
}
