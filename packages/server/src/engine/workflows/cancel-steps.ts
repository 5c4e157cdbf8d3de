import { unavailable } from '../../domain/errors.js';
import type { Execute } from '../../store/connection/database.js';
import type { AfterCommit } from '../outcomes/after-commit.js';
import { cancelWaiting, plainSettlement, runSettle } from '../outcomes/settlement.js';

/** A round misses a job only if it moves between two statements; no worker keeps that up for this many rounds. */
const ROUNDS = 100;

/**
 * Cancels the jobs of steps that have not ended, whichever table they are in. The caller holds their workflow's lock,
 * so nothing else can end them; but a claim, a retry or a release may move them meanwhile, so this looks again until it
 * has found every one.
 */
export async function cancelAll(
  execute: Execute,
  tenant: string,
  ids: readonly string[],
  afterCommit: AfterCommit,
): Promise<void> {
  let left = ids;
  for (let round = 0; left.length > 0; round++) {
    if (round === ROUNDS)
      throw unavailable('the jobs of the workflow move too fast to be cancelled; try again shortly');
    const waiting = await cancelWaiting(execute, tenant, left, true);
    for (const { id, queue, task, watched } of waiting)
      afterCommit.cancelledWaiting(id, { tenant, queue, task }, watched > 0);
    left = without(left, waiting);
    if (left.length === 0) return;
    const running = await runSettle(
      execute,
      left.map((id) => plainSettlement(id, null, 'cancelled')),
      true,
    );
    for (const row of running) afterCommit.settled(row);
    left = without(left, running);
  }
}

function without(ids: readonly string[], rows: readonly { readonly id: string }[]): readonly string[] {
  const gone = new Set(rows.map((row) => row.id));
  return ids.filter((id) => !gone.has(id));
}
