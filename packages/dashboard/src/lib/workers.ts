import type { Worker } from '@millrace/contract';

/** Servers of earlier versions leave some of it out. */
type Row = Omit<Worker, 'first_seen_at' | 'in_use' | 'running_jobs'> &
  Partial<Pick<Worker, 'first_seen_at' | 'in_use' | 'running_jobs'>>;

/** A worker with all of its queues. */
export interface WholeWorker {
  readonly id: string;
  readonly queues: readonly string[];
  /** The caller's jobs that it holds. */
  readonly running: number;
  /** Null if it has not said so lately. */
  readonly slots: number | null;
  /** How many of them are taken, by jobs of whatever tenant. */
  readonly inUse: number;
  /** How many of them are taken by jobs of other tenants. */
  readonly forOthers: number;
  /** The oldest first; null if the server does not say. */
  readonly jobs: Worker['running_jobs'] | null;
  /** Since `since`, which is an hour ago at most. */
  readonly completed: number;
  readonly failed: number;
  readonly expired: number;
  readonly since: number;
  readonly lastSeenAt: string;
}

/** A worker asks, extends or reports at least every half a minute: after two it is gone. */
const GONE_MS = 120_000;
const HOUR_MS = 3_600_000;

/** The server lists a worker once for each of its queues; here it is one, and stands in the order of the names. */
export function wholeWorkers(rows: readonly Row[], now: number): WholeWorker[] {
  const byId = new Map<string, Row[]>();
  for (const row of rows) byId.set(row.worker_id, [...(byId.get(row.worker_id) ?? []), row]);
  return [...byId].map(([id, own]) => whole(id, own, now)).sort((one, other) => one.id.localeCompare(other.id));
}

function whole(id: string, rows: readonly Row[], now: number): WholeWorker {
  const sum = (of: (row: Row) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const offering = rows.filter(({ slots }) => slots !== null);
  const jobs = rows.flatMap(({ running_jobs: held }) => held ?? []);
  const since = Math.min(...rows.map(({ first_seen_at: at }) => (at === undefined ? 0 : Date.parse(at))));
  return {
    id,
    queues: [...new Set(rows.map(({ queue_name }) => queue_name))].sort((one, other) => one.localeCompare(other)),
    running: sum(({ running }) => running),
    slots: offering.length === 0 ? null : offering.reduce((total, { slots }) => total + (slots ?? 0), 0),
    // A queue of which it has not said how many jobs it can hold adds no slots, so its jobs take none.
    inUse: offering.reduce((total, row) => total + takenOf(row), 0),
    forOthers: offering.reduce((total, row) => total + Math.max(0, takenOf(row) - row.running), 0),
    jobs: rows.some(({ running_jobs: held }) => held !== undefined)
      ? jobs.sort((one, other) => Date.parse(one.started_at) - Date.parse(other.started_at))
      : null,
    completed: sum(({ completed }) => completed),
    failed: sum(({ failed }) => failed),
    expired: sum(({ expired }) => expired),
    since: Math.max(since, now - HOUR_MS),
    lastSeenAt: rows.reduce(
      (latest, { last_seen_at: at }) => (Date.parse(at) > Date.parse(latest) ? at : latest),
      rows[0]?.last_seen_at ?? '',
    ),
  };
}

/** Older servers count jobs whose end is being reported, which take no slot any more. */
const takenOf = ({ in_use, running, slots }: Row): number => Math.min(slots ?? 0, in_use ?? running);

/** A rate of less than a minute would be a guess. */
const LEAST_MS = 60_000;

/** How many attempts it ended per minute of the time that is known of it. */
export const rateOf = ({ completed, failed, since }: WholeWorker, now: number): number =>
  ((completed + failed) * 60_000) / Math.max(LEAST_MS, now - since);

/** One that holds a job is not gone, however long it is silent: its lease says when. */
export const isGone = ({ lastSeenAt, running }: WholeWorker, now: number): boolean =>
  running === 0 && now - Date.parse(lastSeenAt) > GONE_MS;
