import type { DeadLetterReason } from '@millrace/contract';
import { isLimitedId } from '../../domain/ids.js';
import { boolArray, float8Array, jsonArray, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { JsonText } from '../../domain/records.js';

/**
 * The statements that settle and cancel jobs, as functions that run on the given connection or transaction. Jobs that
 * may have limits or a parent, which their ids tell, go through statements of their own, which give back their room and
 * tell their parent.
 */
const sql = loadStatements('outcomes/settle.sql');

export interface Settlement {
  readonly id: string;
  /** null matches any token. */
  readonly token: string | null;
  /** `released`: given back unfinished. `undelivered`: the same, and the delivery does not count. */
  readonly outcome: 'completed' | 'failed' | 'retrying' | 'cancelled' | 'released' | 'undelivered';
  readonly result: JsonText | null;
  readonly error: string | null;
  readonly reason: DeadLetterReason | null;
  /** Until it is due again. Null for one that is given back: as before its claim. */
  readonly delaySecs: number | null;
  /** Act only if the lease's deadline has passed. */
  readonly onlyExpired: boolean;
  /** How the attempt failed, if it did; the other outcomes say it themselves. */
  readonly failure: AttemptFailure;
  /** What is known about the error beyond its text. */
  readonly details: JsonText | null;
}

export type AttemptFailure = 'failed' | 'timed_out' | 'lease_expired';

export interface SettledRow {
  /** Which of the given settlements it was, from 1. */
  readonly n: number;
  readonly id: string;
  readonly token: string;
  readonly tenant: string;
  readonly worker: string | null;
  /** How the attempt was written down; null: not at all. */
  readonly attempt: AttemptFailure | 'cancelled' | 'released' | null;
  readonly outcome: Settlement['outcome'];
  readonly reason: DeadLetterReason | null;
  readonly run_secs: number;
  readonly job_queue: string;
  readonly job_task: string;
  /** Where it waits again, if it does; like what follows. */
  readonly queue: string | null;
  readonly priority: number | null;
  readonly scheduled_at: string | null;
  readonly watched: number;
  /** Of a job that failed for good: what its dead letter says. */
  readonly dead_task: string | null;
  readonly dead_queue: string | null;
  readonly dead_error: string | null;
  /** In JSON: limits where somebody may be let in now. */
  readonly looks?: string | null;
  /** In JSON: parents that have nothing to wait for any more. */
  readonly parents?: string | null;
}

/** A settlement with nothing but its outcome. */
export const plainSettlement = (id: string, token: string | null, outcome: Settlement['outcome']): Settlement => ({
  id,
  token,
  outcome,
  result: null,
  error: null,
  reason: null,
  delaySecs: null,
  onlyExpired: false,
  failure: 'failed',
  details: null,
});

/** How the attempt is written down; null: not at all. A completion is in the record; an undelivered one was none. */
function attemptOutcome({ outcome, failure }: Settlement): AttemptFailure | 'cancelled' | 'released' | null {
  switch (outcome) {
    case 'retrying':
    case 'failed':
      return failure;
    case 'cancelled':
    case 'released':
      return outcome;
    case 'completed':
    case 'undelivered':
      return null;
  }
}

export const endsJob = ({ outcome }: Settlement): boolean =>
  outcome === 'completed' || outcome === 'failed' || outcome === 'cancelled';

/** `workflowsLocked`: the caller holds the lock of every workflow whose step ends here. */
export function runSettle(
  execute: Execute,
  items: readonly Settlement[],
  workflowsLocked: boolean,
): Promise<SettledRow[]> {
  const plain: RunPart = (part) => execute(sql.settle(settleColumns(part, workflowsLocked)));
  const limited: RunPart = (part) => execute(sql.settle_limited(settleColumns(part, workflowsLocked)));
  return apart(items, plain, limited);
}

type RunPart = (items: readonly Settlement[]) => Promise<SettledRow[]>;

const settleColumns = (items: readonly Settlement[], workflowsLocked: boolean) => ({
  ids: uuidArray(items.map((item) => item.id)),
  tokens: uuidArray(items.map((item) => item.token)),
  outcomes: textArray(items.map((item) => item.outcome)),
  results: jsonArray(items.map((item) => item.result)),
  errors: textArray(items.map((item) => item.error)),
  reasons: plainArray(items.map((item) => item.reason)),
  delays_secs: float8Array(items.map((item) => item.delaySecs)),
  only_expired: boolArray(items.map((item) => item.onlyExpired)),
  workflows_locked: workflowsLocked,
  attempts: plainArray(items.map(attemptOutcome)),
  details: jsonArray(items.map((item) => item.details)),
});

/** Runs one statement for plain jobs and another for those that may have limits: nearly always one of the two. */
async function apart(items: readonly Settlement[], plain: RunPart, limited: RunPart): Promise<SettledRow[]> {
  const isLimited = items.map(({ id }) => isLimitedId(id));
  if (!isLimited.includes(true)) return plain(items);
  if (!isLimited.includes(false)) return limited(items);
  const runOn = async (run: RunPart, kind: boolean): Promise<SettledRow[]> => {
    const numbers = isLimited.flatMap((each, n) => (each === kind ? [n] : []));
    const rows = await run(numbers.map((n) => items[n]!));
    return rows.map((row) => ({ ...row, n: numbers[row.n - 1]! + 1 }));
  };
  return [...(await runOn(plain, false)), ...(await runOn(limited, true))];
}

export interface CancelledRow {
  readonly id: string;
  readonly queue: string;
  readonly task: string;
  readonly watched: number;
  /** As for a settlement. */
  readonly looks?: string | null;
  readonly parents?: string | null;
}

/** Cancels waiting jobs, and returns those that were still waiting. */
export async function cancelWaiting(
  execute: Execute,
  tenant: string,
  ids: readonly string[],
  workflowsLocked: boolean,
): Promise<CancelledRow[]> {
  const columns = (part: readonly string[]) => ({
    tenants: textArray(part.map(() => tenant)),
    ids: uuidArray(part),
    workflows_locked: workflowsLocked,
  });
  const limited = ids.filter(isLimitedId);
  if (limited.length === 0) return execute(sql.cancel_waiting(columns(ids)));
  const freed = await execute<CancelledRow>(sql.cancel_waiting_limited(columns(limited)));
  if (limited.length === ids.length) return freed;
  const plain = ids.filter((id) => !isLimitedId(id));
  return [...freed, ...(await execute<CancelledRow>(sql.cancel_waiting(columns(plain))))];
}
