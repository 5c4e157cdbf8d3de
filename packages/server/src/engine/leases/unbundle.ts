import { textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';

const sql = loadStatements('leases/bundles.sql');

/** A job that may be in a bundle. A null token matches any. */
export interface Bundled {
  readonly tenant: string;
  readonly id: string;
  readonly token: string | null;
}

/** Moves jobs from their bundles to leases of their own, and returns the ids of those that were in one. */
export async function unbundle(execute: Execute, jobs: readonly Bundled[]): Promise<ReadonlySet<string>> {
  const rows = await execute<{ id: string }>(
    sql.unbundle({
      tenants: textArray(jobs.map((job) => job.tenant)),
      ids: uuidArray(jobs.map((job) => job.id)),
      tokens: uuidArray(jobs.map((job) => job.token)),
    }),
  );
  return new Set(rows.map((row) => row.id));
}
