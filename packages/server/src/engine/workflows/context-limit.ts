import { enteringBytes } from '../../domain/context.js';
import type { Settlement } from '../outcomes/settlement.js';
import type { LockedRun } from './run-writer.js';

/**
 * The limit on the context of a workflow, checked when a step completes. A run counts what enters its context, merged
 * or not: the initial context and the result of each completed step, each once. A completion that would exceed the
 * limit becomes a permanent failure, to which the failure policy of its step applies. So a join never finds more than
 * the limit, however many steps it waits for.
 */
export interface JudgedReports {
  /** In the order given: each as it was, or as the failure that it becomes. */
  readonly reports: readonly Settlement[];
  /** How much a report adds to its context if it is acted on. */
  readonly bytesOf: (report: Settlement) => number;
}

/** `runOf`: the run whose step the report ends, if its lease is held. */
export function judgeContexts(
  reports: readonly Settlement[],
  runOf: (report: Settlement) => LockedRun | undefined,
  maxBytes: number,
): JudgedReports {
  const totals = new Map<LockedRun, number>();
  /** The end of one job can be reported more than once. Only one report will act, so the largest counts. */
  const counted = new Map<string, number>();
  const added = new Map<Settlement, number>();
  const judged = reports.map((report) => {
    const run = report.outcome === 'completed' ? runOf(report) : undefined;
    if (!run) return report;
    const bytes = enteringBytes(report.result ?? '{}');
    const before = counted.get(report.id) ?? 0;
    const others = (totals.get(run) ?? run.context_bytes) - before;
    if (bytes > 0 && others + bytes > maxBytes) return refusal(report, others + bytes, maxBytes);
    const larger = Math.max(before, bytes);
    counted.set(report.id, larger);
    totals.set(run, others + larger);
    added.set(report, bytes);
    return report;
  });
  return { reports: judged, bytesOf: (report) => added.get(report) ?? 0 };
}

function refusal(report: Settlement, bytes: number, maxBytes: number): Settlement {
  const error =
    `with the result of this step the context of the workflow would hold ${bytes} bytes; ` +
    `${maxBytes} are allowed (--max-payload-bytes)`;
  return { ...report, outcome: 'failed', result: null, error, reason: 'non_retryable' };
}
