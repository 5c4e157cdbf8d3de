import type { WorkflowEnd } from '../../domain/dag.js';
import { listIn, toInstant } from '../../store/rows.js';
import type { Hub, SettledNews } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import type { Origin } from '../shared/series-recorder.js';
import type { CancelledRow, SettledRow } from './settlement.js';

/** A waiting job that has become due. */
export interface MadeDueRow {
  readonly queue: string;
  readonly priority: number;
  readonly scheduled_at: string;
  /** The limit in whose line it waits now, if it has any. */
  readonly waits_for: string | null;
  readonly watched: number;
}

/** What a transaction will have done once it commits: counted and announced then, not before. */
export class AfterCommit {
  readonly #steps: ((hub: Hub, counters: Counters) => void)[] = [];
  #watched = false;

  settled(row: SettledRow): void {
    const { tenant, outcome, run_secs: runSecs } = row;
    const origin = { tenant, queue: row.job_queue, task: row.job_task };
    if (row.watched > 0) this.#watched = true;
    this.#steps.push((hub, counters) => {
      if (outcome === 'failed') counters.settled({ outcome, origin, runSecs, reason: row.reason ?? 'non_retryable' });
      else if (outcome !== 'released' && outcome !== 'undelivered') counters.settled({ outcome, origin, runSecs });
      noteWorker(counters, row);
      hub.announceSettled(settledNews(row));
      hub.announceEnd(row.job_queue);
      if (row.looks !== undefined) hub.announceLimits({ limits: listIn<string>(row.looks), slept: row.queue !== null });
      hub.announceParents(listIn<string>(row.parents));
      if (row.queue !== null && row.scheduled_at !== null) {
        hub.announceWork(row.queue, row.priority ?? 0, Date.parse(toInstant(row.scheduled_at)));
      }
    });
  }

  cancelledWaiting(tenant: string, { id, queue, task, watched, looks, parents }: CancelledRow): void {
    if (watched > 0) this.#watched = true;
    this.#steps.push((hub, counters) => {
      counters.cancelled({ tenant, queue, task });
      hub.announceSettled(cancelledNews(id, tenant));
      hub.announceLimits({ limits: listIn<string>(looks), slept: false });
      hub.announceParents(listIn<string>(parents));
    });
  }

  /** `waitsFor`: the limit in whose line it waits, if it has any. */
  enqueued(origin: Origin, priority: number, waitsFor: string | null = null): void {
    this.#steps.push((hub, counters) => {
      counters.created(origin);
      if (waitsFor === null) hub.announceWork(origin.queue, priority, null);
      else hub.announceLimits({ limits: [waitsFor], slept: false });
    });
  }

  madeDue({ queue, priority, scheduled_at: at, waits_for: limit, watched }: MadeDueRow): void {
    if (watched > 0) this.#watched = true;
    this.#steps.push((hub) => {
      if (limit === null) hub.announceWork(queue, priority, Date.parse(toInstant(at)));
      else hub.announceLimits({ limits: [limit], slept: false });
    });
  }

  workflowMoved(id: string): void {
    this.#steps.push((hub) => hub.announceWorkflow(id));
  }

  workflowEnded(tenant: string, end: WorkflowEnd): void {
    this.#steps.push((_, counters) => counters.workflowEnded(tenant, end));
  }

  apply(hub: Hub, counters: Counters): void {
    for (const step of this.#steps) step(hub, counters);
    if (this.#watched) hub.announceEvents();
  }
}

/** What its worker has to do with it: nothing where it was cancelled, or never reached the worker. */
function noteWorker({ workers }: Counters, { tenant, worker, job_queue: queue, outcome, attempt, ...row }: SettledRow) {
  if (attempt === 'lease_expired') workers.expired(tenant, worker, queue, row.run_secs);
  else if (outcome === 'completed') workers.reported(tenant, worker, queue, 1, 0);
  else if (outcome === 'failed' || outcome === 'retrying') workers.reported(tenant, worker, queue, 0, 1);
  else if (outcome === 'released') workers.seen(tenant, worker, queue);
}

/** What the news of every completion says. */
export const COMPLETED = { outcome: 'completed', reason: null, error: null } as const;

const settledNews = (row: SettledRow): SettledNews => ({
  id: row.id,
  tenant: row.tenant,
  outcome: row.outcome,
  task: row.dead_task,
  queue: row.dead_queue,
  runSecs: row.run_secs,
  reason: row.reason,
  error: row.dead_error,
});

/** Of a job that was cancelled before anybody ran it. */
const cancelledNews = (id: string, tenant: string): SettledNews => ({
  id,
  tenant,
  outcome: 'cancelled',
  task: null,
  queue: null,
  runSecs: null,
  reason: null,
  error: null,
});
