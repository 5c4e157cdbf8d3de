import type { Execute } from '../../store/connection/database.js';
import { makeManyDue } from '../jobs/run-now.js';
import type { AfterCommit } from '../outcomes/after-commit.js';

/**
 * Makes many jobs of one tenant due in a transaction of the caller, each as a single call would. Those that are due
 * already, or wait for something else than their time, are left alone. Returns how many it changed.
 */
export async function runJobsNow(
  execute: Execute,
  tenant: string,
  ids: readonly string[],
  afterCommit: AfterCommit,
): Promise<number> {
  const moved = await makeManyDue(execute, tenant, ids);
  for (const row of moved) afterCommit.madeDue(row);
  return moved.length;
}
