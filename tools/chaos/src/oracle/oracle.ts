import type { History } from '../history/history.js';
import type { JobRecord } from './model.js';
import { replay } from './replay.js';
import { lostLeases, stepsByJob } from './steps.js';

/**
 * Compares what the clients were told with what the database holds: invariants 1, 2, 7 and 8 of docs/reliability.md, as
 * far as clients can tell.
 */
export interface Evidence {
  readonly history: History;
  /** Every job of every database of the row, by id. */
  readonly records: ReadonlyMap<string, JobRecord>;
  /** Queues that the pool of a server works on. */
  readonly poolQueues: ReadonlySet<string>;
}

export function judge({ history, records, poolQueues }: Evidence): readonly string[] {
  const entries = history.entries();
  const lost = lostLeases(entries);
  const violations: string[] = [];
  for (const entry of entries) {
    const status = entry.answer?.status ?? null;
    if (status === null || status < 500) continue;
    const { op, method, path } = entry.call;
    if (status !== 503) violations.push(`${op}: ${method} ${path} answered ${status}`);
    else if (!history.duringOutage(entry)) violations.push(`${op}: ${method} ${path} answered 503 outside an outage`);
  }
  for (const [job, steps] of stepsByJob(entries)) {
    const record = records.get(job);
    if (record === undefined) {
      violations.push(`job ${job} was acknowledged and does not exist`);
      continue;
    }
    const pool = poolQueues.has(record.queue);
    const failure = replay(steps, record, { pool, claims: lost.has(record.queue) });
    if (failure !== null) violations.push(`the history of job ${job} is impossible: ${failure}`);
  }
  return violations;
}
