import type { Run } from '../store/database.js';
import type { Aftermath } from './aftermath.js';
import { cancelWaiting, plainSettlement, runSettle } from './settlement.js';

/** A job can be claimed or given back between two statements, but no oftener than somebody claims it. */
const ROUNDS = 100;

/**
 * Cancels jobs of steps wherever they stand, under their workflow's lock: nothing else can end them, but a claim may move them while we look, so
 * it looks again. False: some had ended before.
 */
export async function cancelAll(
  run: Run,
  tenant: string,
  ids: readonly string[],
  aftermath: Aftermath,
): Promise<boolean> {
  let left = ids;
  for (let round = 0; left.length > 0 && round < ROUNDS; round++) {
    const waiting = await cancelWaiting(run, tenant, left, true);
    for (const { watched } of waiting) aftermath.cancelledWaiting(tenant, watched > 0);
    const gone = new Set(waiting.map((row) => row.id));
    left = left.filter((id) => !gone.has(id));
    if (left.length === 0) break;
    const running = await runSettle(
      run,
      left.map((id) => plainSettlement(id, null, 'cancelled')),
      true,
    );
    for (const row of running) aftermath.settled(row);
    for (const { id } of running) gone.add(id);
    if (gone.size === 0 && round > 2) return false;
    left = left.filter((id) => !gone.has(id));
  }
  return left.length === 0;
}
