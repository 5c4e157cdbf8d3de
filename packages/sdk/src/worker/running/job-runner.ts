import { JobCancelled, LeaseLost, ShuttingDown } from '../../errors/handler-errors.js';
import type { JsonObject } from '../../json/object.js';
import { stepPayload } from '../../workflow/references.js';
import type { Job } from '../../wire/index.js';
import { RunningAttempt, type AttemptOwner, type Verdict } from './running-attempt.js';
import { ClaimedJob } from './claimed-job.js';
import { monotonicMs } from '../clock.js';
import { Context, type ContextOwner } from './context.js';
import type { EventSink } from '../events.js';
import type { BeatAnswer } from '../leases/heartbeat-calls.js';
import type { HeldJob, HeldJobs } from '../leases/held-jobs.js';
import type { Keeper } from '../leases/keeper.js';
import type { Lease } from '../leases/lease-cells.js';
import type { Settings } from '../options.js';
import { FailureLog } from '../reports/failure-log.js';
import type { Outcome } from '../reports/outcome.js';
import type { Claimed } from '../leases/poller.js';
import type { Transport } from '../../http/transport.js';
import type { AssumedFeatures } from '../calls/assumed-features.js';
import { CheckpointCalls } from './checkpoint-calls.js';
import { ProgressMemory } from './progress-memory.js';
import type { LogSender } from '../reports/log-sender.js';
import type { Reported, Reporter } from '../reports/reporter.js';
import type { Slots } from '../leases/slots.js';

export interface JobRunnerOptions {
  readonly settings: Settings;
  readonly jobs: HeldJobs;
  readonly reporter: Reporter;
  readonly logs: LogSender;
  readonly keeper: () => Keeper;
  readonly events: EventSink;
  readonly transport: Transport;
  readonly features: AssumedFeatures;
}

/** Jobs of an unknown task pause for this long, and twice as long at each delivery. */
const UNKNOWN_FIRST_SECS = 5;
const UNKNOWN_MOST_SECS = 300;
const MOST_UNKNOWN = 1_000;

/**
 * Takes jobs from their claim to their report.
 *
 * A job is running (its handler has not ended), then reporting (its outcome is on the way), then let go. It is let go
 * without a report when a heartbeat says that it was cancelled or taken away.
 */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #progress = new ProgressMemory();
  readonly #failures: FailureLog;
  /** Tasks that came although there is no handler for them, each mentioned once. */
  readonly #unknown = new Set<string>();
  /** Jobs whose handlers have not ended, also those that are no longer held. */
  readonly #running = new Set<HeldJob>();
  readonly #attempts: AttemptOwner;
  readonly #contexts: ContextOwner;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
    this.#failures = new FailureLog(options.settings.logger);
    this.#attempts = this.#attemptOwner();
    this.#contexts = this.#contextOwner();
  }

  /** How many handlers have not ended. */
  get running(): number {
    return this.#running.size;
  }

  /** Starts every job that a poll brought. */
  start(claimed: Claimed, slots: Slots): void {
    const all = this.#hold(claimed, slots);
    slots.take(all.length);
    if (slots.free <= 0) this.#announce(all);
    for (const held of all) this.#run(held);
  }

  /** No more jobs can come before some of these have ended: a batch need not wait for others. */
  #announce(all: readonly HeldJob[]): void {
    const counts = new Map<string, number>();
    for (const { job } of all) counts.set(job.task, (counts.get(job.task) ?? 0) + 1);
    for (const [task, count] of counts) this.#options.settings.handlers.get(task)?.batch?.expect(count);
  }

  /** Gives back what a poll brought, without starting it. */
  giveBack(claimed: Claimed, slots: Slots): void {
    for (const held of this.#hold(claimed, slots)) this.#report(held, { kind: 'released' });
  }

  #hold({ jobs: leased, answer, calledAt }: Claimed, slots: Slots): HeldJob[] {
    const { jobs, keeper, settings } = this.#options;
    const leaseMs = settings.leaseSecs * 1_000;
    const held: HeldJob[] = [];
    for (const [index, { job, lease_token: token }] of leased.entries()) {
      try {
        held.push(
          jobs.hold({
            job: new ClaimedJob(job, answer, index),
            payload: payloadOf(job),
            timeoutMs: job.config.timeout_secs * 1_000,
            slots,
            token,
            deadlineMs: calledAt + leaseMs,
            startedAt: job.started_at ?? job.created_at,
            retryRule: job.config,
          }),
        );
      } catch (error) {
        settings.logger.error(`a job cannot be held, and is left to expire: ${String(error)}`, { job: job.id });
      }
    }
    keeper().beatBy(calledAt + leaseMs / 2);
    return held;
  }

  /** A heartbeat was answered with something else than `running`. */
  lose(lease: Lease, answer: BeatAnswer): void {
    const { jobs, reporter, events } = this.#options;
    const held = jobs.find(lease);
    if (held === undefined) return;
    const isCancelled = answer === 'cancelled';
    if (held.reporting) {
      // Most likely it is no longer ours because our own report was taken, whose answer is still under way.
      if (answer !== 'completed' && answer !== 'failed') reporter.doubt(held, isCancelled ? 'cancelled' : 'lost');
      return;
    }
    held.stop.stop(
      isCancelled ? new JobCancelled('the job was cancelled') : new LeaseLost('the job was given to another worker'),
    );
    jobs.letGo(held);
    events.emit({ type: isCancelled ? 'cancelled' : 'lease_lost', job: held.job, ms: monotonicMs() - held.startedAt });
  }

  /** The reporter says how a report ended. */
  reported(held: HeldJob, reported: Reported): void {
    const { events } = this.#options;
    const { job, tookMs: ms } = held;
    held.slots.endReport();
    if (reported === 'lost') return events.emit({ type: 'lease_lost', job, ms });
    if (reported === 'cancelled') return events.emit({ type: 'cancelled', job, ms });
    if (reported.kind === 'completed') this.#progress.forget(job.id);
    if (reported.kind !== 'failed') return events.emit({ type: reported.kind, job, ms });
    this.#failures.write(job, reported, held.retryRule);
    events.emit({ type: 'failed', job, ms, error: reported.cause ?? reported.error });
  }

  /** Tells every handler that the worker is about to end. */
  abortAll(): void {
    for (const held of this.#running) held.stop.stop(new ShuttingDown('the worker is shutting down'));
  }

  /** Gives back what still runs; what its handler says from now on does not count. */
  releaseAll(): void {
    for (const held of this.#running) {
      if (held.reporting || !this.#options.jobs.has(held)) continue;
      this.#options.settings.logger.warn('a handler ignores that the worker stops; its job is given back', about(held));
      this.#report(held, { kind: 'released' });
    }
  }

  #run(held: HeldJob): void {
    const { settings, events } = this.#options;
    const handler = settings.handlers.get(held.job.task);
    this.#running.add(held);
    if (handler === undefined) return this.#leaveToOthers(held);
    events.emit({ type: 'started', job: held.job });
    void new RunningAttempt(held, handler, new Context(held, this.#contexts), this.#attempts);
  }

  /**
   * A job of a task that this worker does not know goes back, which costs no retry: a newer worker may know it. The
   * pause grows, or a queue that nobody can work on would be passed round without end.
   */
  #leaveToOthers(held: HeldJob): void {
    const { task, attempt } = held.job;
    if (!this.#unknown.has(task) && this.#unknown.size < MOST_UNKNOWN) {
      this.#unknown.add(task);
      this.#options.settings.logger.warn(
        `there is no handler for the task ${task} here; its jobs go back to the queue ${held.job.queue}, with a pause`,
        { task, queue: held.job.queue },
      );
    }
    const delaySecs = Math.min(UNKNOWN_FIRST_SECS * 2 ** Math.min(attempt - 1, 10), UNKNOWN_MOST_SECS);
    this.#attempts.onVerdict(held, { kind: 'released', delaySecs });
    this.#attempts.onEnd(held);
  }

  #report(held: HeldJob, outcome: Outcome): void {
    held.slots.startReport();
    held.tookMs = monotonicMs() - held.startedAt;
    this.#options.reporter.report(held, outcome);
  }

  #end(held: HeldJob, verdict: Verdict): void {
    if (verdict === 'cancelled' || verdict === 'lost') return;
    // It may have been taken away, or given back, after its handler was told to stop for another reason.
    if (held.reporting || !this.#options.jobs.has(held)) return;
    this.#report(held, verdict);
  }

  #attemptOwner(): AttemptOwner {
    const { hooks, logger } = this.#options.settings;
    const wrapJob = hooks.wrapJob?.bind(hooks);
    return {
      wrap: wrapJob && ((held, run) => wrapJob(held.job, run)),
      onVerdict: (held, verdict) => this.#end(held, verdict),
      onEnd: (held) => {
        this.#running.delete(held);
        held.slots.leave();
      },
      onIgnored: (held) => {
        const message = 'a handler goes on although its signal was aborted; it keeps its slot';
        logger.warn(message, { ...about(held), reason: String(held.stop.reason) });
      },
    };
  }

  #contextOwner(): ContextOwner {
    const { settings, jobs, keeper, transport, features, logs } = this.#options;
    return {
      logger: settings.logger,
      keepLine: settings.logs === 'local' ? undefined : logs.write.bind(logs),
      client: settings.client,
      hooks: settings.hooks,
      createsChildren: () => features.isKnown('durable'),
      checkpoints: (held) => new CheckpointCalls(transport, features, held, () => this.lose(held.lease, 'lease_lost')),
      isLeased: (held) => jobs.isLeased(held),
      lastProgress: ({ job }) => this.#progress.get(job.id),
      sendProgress: (held, value) => {
        this.#progress.set(held.job.id, value);
        if (jobs.has(held)) keeper().progress(held.lease.cell, held.lease.generation, value);
      },
    };
  }
}

/** References are a convention of workflow steps; in any other payload they are the caller's own data. */
const payloadOf = (job: Job): JsonObject => (job.workflow_id === null ? job.payload : stepPayload(job.payload));

const about = ({ job }: HeldJob): { job: string; task: string } => ({ job: job.id, task: job.task });
