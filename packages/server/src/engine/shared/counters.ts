import type { CronFiringKind, DeadLetterReason, Stats } from '@millrace/contract';
import type { WorkflowEnd } from '../../domain/dag.js';
import { SeriesRecorder, type Origin } from './series-recorder.js';
import { WorkerRecorder } from './worker-recorder.js';

/**
 * What this process did, counted after the commit: per tenant for GET /api/v1/stats, in total for the metrics, by queue
 * and task for the series, by worker for the list of workers.
 */
export interface EngineMetrics {
  created(n: number): void;
  /** The same events by queue and task. */
  happened(event: 'created' | 'completed' | 'retried' | 'failed' | 'cancelled', origin: Origin): void;
  claimed(n: number, seconds: number): void;
  waited(seconds: number): void;
  completed(runSeconds: number): void;
  retried(runSeconds: number): void;
  failed(reason: DeadLetterReason, runSeconds: number): void;
  cancelled(): void;
  expired(n: number): void;
  /** Jobs that had waited for room. */
  admitted(n: number): void;
  stale(operation: 'heartbeat' | 'complete' | 'fail' | 'release' | 'checkpoint' | 'suspend' | 'children'): void;
  /** Signals that nobody took: their time was over, their job had ended, or there was no room for more. */
  untaken(how: 'expired' | 'job_ended' | 'refused', n: number): void;
  swept(seconds: number): void;
  retentionLag(seconds: number): void;
  cronFired(kind: CronFiringKind, lagSeconds: number): void;
  workflowEnded(end: WorkflowEnd): void;
}

export type Settled = { readonly origin: Origin; readonly runSecs: number } & (
  | { readonly outcome: 'completed' | 'retrying' | 'cancelled' }
  | { readonly outcome: 'failed'; readonly reason: DeadLetterReason }
);

const NOTHING: Stats = {
  jobs_created: 0,
  jobs_completed: 0,
  jobs_failed: 0,
  jobs_retried: 0,
  jobs_dead_lettered: 0,
  jobs_cancelled: 0,
  workflows_created: 0,
  workflows_completed: 0,
  workflows_failed: 0,
};

export class Counters {
  readonly #tenants = new Map<string, Stats>();

  constructor(
    readonly metrics: EngineMetrics,
    readonly series: SeriesRecorder = new SeriesRecorder(),
    readonly workers: WorkerRecorder = new WorkerRecorder(),
  ) {}

  of(tenant: string): Stats {
    return { ...(this.#tenants.get(tenant) ?? NOTHING) };
  }

  created(origin: Origin): void {
    this.#stats(origin.tenant).jobs_created++;
    this.metrics.created(1);
    this.metrics.happened('created', origin);
    this.series.created(origin);
  }

  /** Cancelled before it ran. */
  cancelled(origin: Origin): void {
    this.#stats(origin.tenant).jobs_cancelled++;
    this.metrics.cancelled();
    this.metrics.happened('cancelled', origin);
    this.series.cancelledWaiting(origin);
  }

  workflowCreated(tenant: string): void {
    this.#stats(tenant).workflows_created++;
  }

  /** A workflow that ended with failed or skipped steps counts as failed. */
  workflowEnded(tenant: string, end: WorkflowEnd): void {
    const stats = this.#stats(tenant);
    if (end === 'completed') stats.workflows_completed++;
    else if (end !== 'cancelled') stats.workflows_failed++;
    this.metrics.workflowEnded(end);
  }

  settled(event: Settled): void {
    const { outcome, origin, runSecs } = event;
    const happened = outcome === 'retrying' ? 'retried' : outcome;
    this.series.ended(happened, origin, runSecs);
    this.metrics.happened(happened, origin);
    const stats = this.#stats(origin.tenant);
    switch (outcome) {
      case 'completed':
        stats.jobs_completed++;
        return this.metrics.completed(runSecs);
      case 'retrying':
        stats.jobs_retried++;
        return this.metrics.retried(runSecs);
      case 'cancelled':
        stats.jobs_cancelled++;
        return this.metrics.cancelled();
      case 'failed':
        stats.jobs_failed++;
        stats.jobs_dead_lettered++;
        return this.metrics.failed(event.reason, runSecs);
    }
  }

  #stats(tenant: string): Stats {
    let stats = this.#tenants.get(tenant);
    if (!stats) this.#tenants.set(tenant, (stats = { ...NOTHING }));
    return stats;
  }
}
