import { dateOf, dateOrNull } from '../records/dates.js';
import { defined } from '../task/policy.js';
import type * as Wire from '../wire/index.js';
import { listing, pageOf, type Listing } from './listing.js';
import { read, segment, type Session } from './session.js';

/** How much a queue holds of the caller's jobs. */
export interface Queue {
  name: string;
  /** Jobs that can be claimed now. */
  pending: number;
  /** Jobs that are not due yet. */
  scheduled: number;
  running: number;
  /** How many of `pending` and `scheduled` have failed before. */
  retrying: number;
  /** How long the longest-waiting job has been claimable. */
  oldestPendingAgeSecs: number | null;
  pausedAt: Date | null;
  /** Why an operator paused it, and who did, as far as that is known. */
  pausedReason: string | null;
  pausedBy: string | null;
  /** When a worker last asked for jobs. */
  lastLeaseAt: Date | null;
  /** What an operator has set for it; null: nothing. */
  settings: QueueSettings | null;
}

/** What an operator has set for a queue. */
export interface QueueSettings {
  /** How many of its jobs may run; null: any number. */
  running: number | null;
  /** How many may start, and in how many seconds; null: no rate. */
  rate: { count: number; perSecs: number; burst: number } | null;
  /** `tenant`: tenants take turns on it; null: jobs run in order, whoever's they are. */
  share: 'tenant' | null;
}

/** A queue, with what is on it and what comes next. */
export interface QueueDetail extends Queue {
  /** `waiting`: those that are due. */
  byTask: { task: string; waiting: number; scheduled: number; running: number }[];
  /** Whether all jobs were counted for `byTask`. */
  byTaskExact: boolean;
  /** The first jobs in claim order. */
  next: { id: string; task: string; priority: number; scheduledAt: Date }[];
  /** How many jobs its workers can hold, and hold; null: none of them says. */
  slots: { offered: number; inUse: number } | null;
}

/** A worker that held the caller's jobs in the last hour. */
export interface WorkerInfo {
  id: string;
  queue: string;
  running: number;
  /** Those that it has held longest, ten at most. */
  runningJobs: { id: string; task: string; queue: string; startedAt: Date }[];
  /** What it did is counted from then on; an hour ago at most. Null: the server does not say. */
  firstSeenAt: Date | null;
  lastSeenAt: Date;
  completed: number;
  failed: number;
  expired: number;
  /** How many jobs of the queue it can hold, and which tasks it knows; null if it did not say lately. */
  slots: number | null;
  tasks: string[] | null;
  /** How many of its slots are taken, by jobs of any tenant. */
  inUse: number | null;
}

/** A key that unfinished jobs name as a limit. */
export interface LimitInfo {
  queue: string;
  key: string;
  /** Jobs that hold room: those that run, and those that may be claimed. */
  running: number;
  /** How many may; null: any number. */
  limit: number | null;
  /** How many may start, and in how many seconds; null: no rate. */
  rate: { count: number; perSecs: number; burst: number } | null;
  /** Jobs in its line, counted up to 10,000. */
  waiting: number;
  /** Since when the longest-waiting of them is due. */
  oldest: Date | null;
}

interface Signal {
  signal?: AbortSignal;
}

/** Queues and who works on them: `millrace.queues`. */
export class Queues {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * The queues that hold unfinished jobs of the caller's, in the order of their names. A page has at most 1,000. With
   * `idle` also those that hold none, as far as the service remembers them.
   */
  list({ idle, signal }: Signal & { idle?: boolean } = {}): Listing<Queue> {
    return listing(undefined, async (cursor) => {
      const page = await read<Wire.Queues>(this.#session, '/queues', defined({ idle, cursor }), signal);
      return pageOf(page, page.queues, queueOf);
    });
  }

  async get(name: string, { signal }: Signal = {}): Promise<QueueDetail> {
    const queue = await read<Wire.QueueDetail>(this.#session, `/queues/${segment(name)}`, {}, signal);
    return {
      ...queueOf(queue),
      // A server before 0.3 counts what is not due among what waits.
      byTask: queue.by_task.map(({ task_name: task, waiting, scheduled = 0, running }) => ({
        ...{ task, waiting, scheduled, running },
      })),
      byTaskExact: queue.by_task_exact,
      next: queue.next.map(({ id, task_name: task, priority, scheduled_at: at }) => ({
        ...{ id, task, priority },
        scheduledAt: dateOf(at),
      })),
      // A server before 0.3 leaves it out.
      slots: queue.slots ? { offered: queue.slots.offered, inUse: queue.slots.in_use } : null,
    };
  }

  /** The keys that unfinished jobs name as limits, by queue and key; of one queue, or of all. */
  limits({ queue, signal }: Signal & { queue?: string } = {}): Listing<LimitInfo> {
    return listing(undefined, async (cursor) => {
      const page = await read<Wire.LimitPage>(this.#session, '/limits', defined({ queue, cursor }), signal);
      return pageOf(page, page.limits, ({ rate, oldest, ...use }) => ({
        ...use,
        rate: rateOf(rate),
        oldest: dateOrNull(oldest),
      }));
    });
  }

  /** Lets no job of a queue start, of any tenant, until it is resumed. Needs the operator's token. */
  pause(name: string, { reason, signal }: Signal & { reason?: string } = {}): Promise<void> {
    return this.#change(name, 'pause', reason === undefined ? undefined : { reason }, signal);
  }

  /** Lets the jobs of a paused queue start again. Needs the operator's token. */
  resume(name: string, { signal }: Signal = {}): Promise<void> {
    return this.#change(name, 'resume', undefined, signal);
  }

  async #change(name: string, change: 'pause' | 'resume', body?: object, signal?: AbortSignal): Promise<void> {
    const path = `/admin/queues/${segment(name)}/${change}`;
    await this.#session.transport.call({ method: 'POST', path, body, signal });
  }

  /** The workers that held the caller's jobs in the last hour, the last seen first. */
  async workers({ signal }: Signal = {}): Promise<WorkerInfo[]> {
    const { workers } = await read<Wire.Workers>(this.#session, '/workers', {}, signal);
    return workers.map(({ worker_id: id, queue_name: queue, last_seen_at: lastSeenAt, ...counts }) => ({
      ...{ firstSeenAt: dateOrNull(counts.first_seen_at), inUse: counts.in_use ?? null },
      ...{ id, queue, running: counts.running, lastSeenAt: dateOf(lastSeenAt) },
      ...{ completed: counts.completed, failed: counts.failed, expired: counts.expired },
      // A server before 0.3 leaves these out.
      ...{ slots: counts.slots ?? null, tasks: counts.tasks ?? null },
      runningJobs: (counts.running_jobs ?? []).map(({ id: job, task_name: task, queue: name, started_at: at }) => ({
        ...{ id: job, task, queue: name, startedAt: dateOf(at) },
      })),
    }));
  }
}

function queueOf(queue: Wire.QueueDepth): Queue {
  return {
    name: queue.queue,
    pending: queue.pending,
    scheduled: queue.scheduled,
    running: queue.running,
    // A server before 0.3 leaves these out.
    retrying: queue.retrying ?? 0,
    oldestPendingAgeSecs: queue.oldest_pending_age_secs,
    pausedAt: dateOrNull(queue.paused_at),
    pausedReason: queue.paused_reason ?? null,
    pausedBy: queue.paused_by ?? null,
    lastLeaseAt: dateOrNull(queue.last_lease_at),
    settings: queue.settings && {
      running: queue.settings.running,
      rate: rateOf(queue.settings.rate),
      share: queue.settings.share ?? null,
    },
  };
}

const rateOf = (rate: Wire.RateInput | null): LimitInfo['rate'] =>
  rate && { count: rate.count, perSecs: rate.per_secs, burst: rate.burst ?? 1 };
