import { JobCancelled, LeaseLost, ShuttingDown } from '../handler-errors.js';
import type { JsonObject } from '../json.js';
import { stepPayload } from '../references.js';
import type { RunningJob } from '../task-types.js';
import type { Job } from '../wire/index.js';
import { startAttempt, type Verdict } from './attempt.js';
import type { Lease } from './beat-loop.js';
import { monotonicMs } from './clock.js';
import { contextOf } from './context.js';
import type { EventSink } from './events.js';
import type { BeatAnswer } from './heartbeat-calls.js';
import type { HeldJob, HeldJobs } from './held-jobs.js';
import type { Keeper } from './keeper.js';
import type { Settings } from './options.js';
import type { Outcome } from './outcome.js';
import type { Claimed } from './poller.js';
import { ProgressMemory } from './progress-memory.js';
import { rawPayload } from './raw-payload.js';
import type { Reported, Reporter } from './reporter.js';
import type { Slots } from './slots.js';
import { StopSwitch } from './stop-switch.js';

export interface JobRunnerOptions {
  readonly settings: Settings;
  readonly jobs: HeldJobs;
  readonly reporter: Reporter;
  readonly keeper: () => Keeper;
  readonly events: EventSink;
}

/** How long after being told to stop a handler that goes on is mentioned in the log. */
const IGNORED_MS = 10_000;

/**
 * Takes jobs from their claim to their report.
 *
 * A job is running (its handler has not ended), then reporting (its outcome is on the way), then let go. It is let go
 * without a report when a heartbeat says that it was cancelled or taken away.
 */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #progress = new ProgressMemory();
  /** Jobs whose handlers have not ended, also those that are no longer held. */
  readonly #running = new Map<HeldJob, { readonly slots: Slots }>();

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /** How many handlers have not ended. */
  get running(): number {
    return this.#running.size;
  }

  /** Starts every job that a poll brought. */
  start(claimed: readonly Claimed[], slots: Slots): void {
    const held = this.#hold(claimed);
    for (const each of held) {
      slots.take();
      this.#run(each, slots);
    }
  }

  /** Gives back what a poll brought, without starting it. */
  giveBack(claimed: readonly Claimed[], slots: Slots): void {
    for (const held of this.#hold(claimed)) this.#report(held, { kind: 'released' }, slots);
  }

  #hold(claimed: readonly Claimed[]): HeldJob[] {
    const { jobs, keeper, settings } = this.#options;
    const now = monotonicMs();
    const held = claimed.map((each) =>
      jobs.add({
        job: runningJob(each),
        payload: payloadOf(each.leased.job),
        timeoutMs: each.leased.job.config.timeout_secs * 1_000,
        token: each.leased.lease_token,
        deadlineMs: each.calledAt + settings.leaseSecs * 1_000,
        stop: new StopSwitch(),
        startedAt: now,
        reporting: false,
      }),
    );
    keeper().hold(held.map(({ lease }) => lease));
    return held;
  }

  /** A heartbeat was answered with something else than `running`. */
  lose(lease: Lease, answer: BeatAnswer): void {
    const { jobs, reporter, events } = this.#options;
    const held = jobs.find(lease);
    if (held === undefined) return;
    const isCancelled = answer === 'cancelled';
    if (held.reporting) {
      // Most likely it has ended because our own report was taken, whose answer is still under way.
      if (answer !== 'completed' && answer !== 'failed') reporter.drop(held, isCancelled ? 'cancelled' : 'lost');
      return;
    }
    held.stop.stop(
      isCancelled ? new JobCancelled('the job was cancelled') : new LeaseLost('the job was given to another worker'),
    );
    jobs.letGo(held);
    events.emit({ type: isCancelled ? 'cancelled' : 'lease_lost', job: held.job, ms: monotonicMs() - held.startedAt });
  }

  /** Tells every handler that the worker is about to end. */
  abortAll(): void {
    for (const held of this.#running.keys()) held.stop.stop(new ShuttingDown('the worker is shutting down'));
  }

  /** Gives back what still runs; what its handler says from now on does not count. */
  releaseAll(): void {
    for (const [held, { slots }] of this.#running) {
      if (held.reporting || !this.#options.jobs.has(held)) continue;
      this.#options.settings.logger.warn('a handler ignores that the worker stops; its job is given back', about(held));
      this.#report(held, { kind: 'released' }, slots);
    }
  }

  #run(held: HeldJob, slots: Slots): void {
    const { settings, jobs, events, keeper } = this.#options;
    const { hooks } = settings;
    const { job, lease } = held;
    this.#running.set(held, { slots });
    events.emit({ type: 'started', job });
    const context = contextOf({
      held,
      logger: settings.logger,
      client: settings.client,
      lastProgress: this.#progress.get(job.id),
      isLeased: () => jobs.isLeased(held),
      sendProgress: (value) => {
        this.#progress.set(job.id, value);
        if (jobs.has(held)) keeper().progress(lease.cell, lease.generation, value);
      },
    });
    const endMention = this.#mentionIgnored(held);
    startAttempt({
      held,
      handler: settings.handlers.get(job.task),
      context,
      wrap: hooks.wrapJob === undefined ? undefined : (run) => hooks.wrapJob?.(job, run) ?? run(),
      onVerdict: (verdict) => this.#end(held, verdict, slots),
      onEnd: () => {
        endMention();
        this.#running.delete(held);
        slots.leave();
      },
    });
  }

  /** Logs a handler that goes on long after it was told to stop: it keeps its slot. */
  #mentionIgnored(held: HeldJob): () => void {
    let timer: NodeJS.Timeout | undefined;
    held.stop.onStop(() => {
      timer = setTimeout(() => {
        const message = 'a handler goes on although its signal was aborted; it keeps its slot';
        this.#options.settings.logger.warn(message, { ...about(held), reason: String(held.stop.reason) });
      }, IGNORED_MS);
      timer.unref();
    });
    return () => clearTimeout(timer);
  }

  #end(held: HeldJob, verdict: Verdict, slots: Slots): void {
    if (verdict === 'cancelled' || verdict === 'lost') return;
    // It may have been taken away, or given back, after its handler was told to stop for another reason.
    if (held.reporting || !this.#options.jobs.has(held)) return;
    this.#report(held, verdict, slots);
  }

  #report(held: HeldJob, outcome: Outcome, slots: Slots): void {
    slots.startReport();
    const ms = monotonicMs() - held.startedAt;
    this.#options.reporter.report(held, outcome, (reported) => {
      slots.endReport();
      this.#tell(held, reported, ms);
    });
  }

  #tell({ job }: HeldJob, reported: Reported, ms: number): void {
    const { events } = this.#options;
    if (reported === 'lost') return events.emit({ type: 'lease_lost', job, ms });
    if (reported === 'cancelled') return events.emit({ type: 'cancelled', job, ms });
    if (reported.kind === 'completed') this.#progress.forget(job.id);
    if (reported.kind === 'failed') events.emit({ type: 'failed', job, ms, error: reported.cause ?? reported.error });
    else events.emit({ type: reported.kind, job, ms });
  }
}

function runningJob({ leased: { job }, answer, index }: Claimed): RunningJob {
  return {
    id: job.id,
    task: job.task_name,
    queue: job.queue_name,
    tenant: job.tenant_id,
    attempt: job.delivery_count,
    retryCount: job.retry_count,
    metadata: job.metadata,
    workflow: job.workflow_id === null ? null : { id: job.workflow_id, step: job.workflow_step_id ?? '' },
    // Few handlers ask for it, and finding it means reading the answer again.
    get payloadText() {
      return rawPayload(answer, index);
    },
  };
}

/** References are a convention of workflow steps; in any other payload they are the caller's own data. */
const payloadOf = (job: Job): JsonObject => (job.workflow_id === null ? job.payload : stepPayload(job.payload));

const about = ({ job }: HeldJob): { job: string; task: string } => ({ job: job.id, task: job.task });
