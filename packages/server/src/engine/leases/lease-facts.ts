import type { JobConfig } from '@millrace/contract';
import type { Execute } from '../../store/connection/database.js';
import { toConfig } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { leaseKeyColumns, type LeaseKey } from './lease-key.js';

const sql = loadStatements('leases/leases.sql');

/** What the failure policy needs to know of a job. */
export interface LeaseFacts {
  readonly retryCount: number;
  readonly config: JobConfig;
}

/** Null where the lease is not held. */
export async function readLeaseFacts(execute: Execute, leases: readonly LeaseKey[]): Promise<(LeaseFacts | null)[]> {
  const rows = await execute<{ id: string; retry_count: number; config: string | null }>(
    sql.lease_facts(leaseKeyColumns(leases)),
  );
  const facts = new Map(rows.map((row) => [row.id, { retryCount: row.retry_count, config: toConfig(row.config) }]));
  return leases.map(({ id }) => facts.get(id) ?? null);
}
