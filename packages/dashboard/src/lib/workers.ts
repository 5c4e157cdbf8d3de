import type { Worker } from '@millrace/contract';

/** What a worker runs now; older servers do not say. */
export interface RunningJob {
  readonly id: string;
  readonly task_name: string;
  readonly queue: string;
  readonly started_at: string;
}

/** A worker with all of its queues. */
export interface WholeWorker {
  readonly id: string;
  readonly queues: readonly string[];
  readonly running: number;
  /** Null if it has not said so lately. */
  readonly slots: number | null;
  /** The oldest first; null if the server does not say. */
  readonly jobs: readonly RunningJob[] | null;
  /** In the last hour. */
  readonly completed: number;
  readonly failed: number;
  readonly expired: number;
  readonly lastSeenAt: string;
}

/** A worker asks, extends or reports at least every half a minute: after two it is gone. */
const GONE_MS = 120_000;

/** The server lists a worker once for each of its queues; here it is one, and stands in the order of the names. */
export function wholeWorkers(rows: readonly Worker[]): WholeWorker[] {
  const byId = new Map<string, Worker[]>();
  for (const row of rows) byId.set(row.worker_id, [...(byId.get(row.worker_id) ?? []), row]);
  return [...byId].map(([id, own]) => whole(id, own)).sort((one, other) => one.id.localeCompare(other.id));
}

function whole(id: string, rows: readonly Worker[]): WholeWorker {
  const sum = (of: (row: Worker) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const said = rows.map(({ slots }) => slots).filter((slots) => slots !== null);
  const jobs = rows.flatMap((row) => (row as WithJobs).running_jobs ?? []);
  return {
    id,
    queues: [...new Set(rows.map(({ queue_name }) => queue_name))].sort((one, other) => one.localeCompare(other)),
    running: sum(({ running }) => running),
    slots: said.length === 0 ? null : said.reduce((total, n) => total + n, 0),
    jobs: rows.some((row) => (row as WithJobs).running_jobs !== undefined)
      ? jobs.sort((one, other) => Date.parse(one.started_at) - Date.parse(other.started_at))
      : null,
    completed: sum(({ completed }) => completed),
    failed: sum(({ failed }) => failed),
    expired: sum(({ expired }) => expired),
    lastSeenAt: rows.reduce(
      (latest, { last_seen_at: at }) => (Date.parse(at) > Date.parse(latest) ? at : latest),
      rows[0]?.last_seen_at ?? '',
    ),
  };
}

type WithJobs = Worker & { readonly running_jobs?: readonly RunningJob[] };

/** One that holds a job is not gone, however long it is silent: its lease says when. */
export const isGone = ({ lastSeenAt, running }: WholeWorker, now: number): boolean =>
  running === 0 && now - Date.parse(lastSeenAt) > GONE_MS;
