import type { Hooks } from '../../client/options.js';
import type { Transport } from '../../http/transport.js';
import type { Logger } from '../../shared/logger.js';
import { monotonicMs } from '../clock.js';
import type { HeldJob, HeldJobs } from '../leases/held-jobs.js';
import type { BufferedLine } from '../../shared/log-buffer.js';
import type { LogSender } from './log-sender.js';
import { permanentFailure, type Outcome } from './outcome.js';
import { sendReports, type ReportAnswer } from './report-calls.js';
import type { AssumedFeatures } from '../calls/assumed-features.js';

/** How a report ended: as what it was accepted, or not at all. */
export type Reported = Outcome | 'lost' | 'cancelled';

interface Pending {
  readonly held: HeldJob;
  outcome: Outcome;
  /** What the handler wrote and has not been sent; known once the report is. */
  logs: readonly BufferedLine[] | null;
  /** Whether a call with it is under way. */
  sent: boolean;
  /** What a heartbeat has said of the job meanwhile; its own answer says whether it was taken before that. */
  doubt: 'lost' | 'cancelled' | null;
  /** Whether the server has refused what the handler said, so that this is the worker's own failure report. */
  replaced: boolean;
  /** Whether it has ended. */
  settled: boolean;
}

export interface ReporterOptions {
  readonly transport: Transport;
  readonly features: AssumedFeatures;
  readonly jobs: HeldJobs;
  readonly logs: LogSender;
  readonly leaseMs: number;
  readonly logger: Logger;
  readonly hooks: Pick<Hooks, 'onReport'>;
  /** A report was accepted, or is no longer wanted. */
  readonly onReported: (held: HeldJob, reported: Reported) => void;
}

const MOST_PER_CALL = 1_000;
/** One call carries about this much, far below what a server accepts; a larger report goes by itself. */
const BYTES_PER_CALL = 4 * 1024 * 1024;
const FIRST_PAUSE_MS = 250;
const MOST_PAUSE_MS = 2_000;

/**
 * Takes outcomes to the server: gathered, and repeated until they are answered. What ends while a call is under way
 * goes with the next one; when there is none, it goes at once. A report is given up when its lease has been over for as
 * long as it was: by then the job is delivered again.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  #pending: Pending[] = [];
  #sending = false;
  #wake: () => void = () => undefined;
  #idle: (() => void)[] = [];

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** How many reports wait for their answer. */
  get waiting(): number {
    return this.#pending.length;
  }

  report(held: HeldJob, outcome: Outcome): void {
    held.reporting = true;
    this.#pending.push({ held, outcome, logs: null, sent: false, doubt: null, replaced: false, settled: false });
    if (!this.#sending) void this.#send();
  }

  /** Resolves when nothing waits. */
  drained(): Promise<void> {
    return this.#pending.length === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  /**
   * A heartbeat says that the job was cancelled or taken away. A report that is under way may have been taken before:
   * its answer tells. Any other is forgotten.
   */
  doubt(held: HeldJob, why: 'lost' | 'cancelled'): void {
    const doubted = this.#pending.find((each) => each.held === held);
    if (doubted === undefined) return;
    if (doubted.sent) doubted.doubt = why;
    else this.#settle(doubted, why);
    this.#forgetSettled();
  }

  /** Tries again now, whatever the pause. */
  hurry(): void {
    this.#wake();
  }

  async #send(): Promise<void> {
    this.#sending = true;
    // Handlers that end in the same turn share a call.
    await new Promise((resolve) => setImmediate(resolve));
    for (let failures = 0; this.#pending.length > 0;) {
      this.#giveUp();
      const batch = this.#nextBatch();
      if (batch.length === 0) break;
      const answers = await this.#call(batch);
      let pauseMs: number | null = null;
      batch.forEach((each, index) => {
        const answer = answers[index] ?? { kind: 'unanswered', retryAfterMs: null };
        each.sent = false;
        if (answer.kind !== 'unanswered') this.#judge(each, answer);
        else if (each.doubt !== null) this.#settle(each, each.doubt);
        else pauseMs = Math.max(pauseMs ?? 0, answer.retryAfterMs ?? pauseFor(failures));
      });
      this.#forgetSettled();
      failures = pauseMs === null ? 0 : failures + 1;
      if (pauseMs !== null) await this.#pause(pauseMs);
    }
    this.#sending = false;
  }

  async #call(batch: readonly Pending[]): Promise<ReportAnswer[]> {
    const { transport, features, logs } = this.#options;
    for (const each of batch) each.sent = true;
    await logs.settled(batch.map(({ held }) => held));
    const reports = batch.map((each) => ({
      lease: each.held.lease,
      outcome: each.outcome,
      logs: (each.logs ??= logs.take(each.held)),
      traceparent: this.#trace(each.held),
    }));
    return sendReports(transport, features, reports);
  }

  /** A hook that throws costs the span, not the report. */
  #trace(held: HeldJob): string | undefined {
    const { hooks, logger } = this.#options;
    try {
      return hooks.onReport?.(held.job)?.traceparent;
    } catch (error) {
      logger.error(`onReport threw: ${String(error)}`, about(held));
      return undefined;
    }
  }

  #nextBatch(): Pending[] {
    const batch: Pending[] = [];
    let bytes = 0;
    for (const each of this.#pending) {
      bytes += sizeOf(each.outcome) + this.#options.logs.sizeOf(each.held);
      if (batch.length > 0 && (batch.length >= MOST_PER_CALL || bytes > BYTES_PER_CALL)) break;
      batch.push(each);
    }
    return batch;
  }

  #judge(pending: Pending, answer: Exclude<ReportAnswer, { kind: 'unanswered' }>): void {
    if (answer.kind === 'accepted') return this.#settle(pending, pending.outcome);
    if (answer.kind === 'lost') return this.#settle(pending, pending.doubt ?? 'lost');
    if (pending.replaced) {
      this.#options.logger.error(`the server does not take a failure report: ${answer.why}`, about(pending.held));
      return this.#settle(pending, 'lost');
    }
    this.#options.logger.error(`the server refuses a report: ${answer.why}`, about(pending.held));
    pending.outcome = permanentFailure(`the server refuses the result: ${answer.why}`);
    pending.logs = [];
    pending.replaced = true;
  }

  /** Nothing came back for a whole lease after the lease was over. */
  #giveUp(): void {
    const { jobs, leaseMs, logger } = this.#options;
    const now = monotonicMs();
    for (const each of this.#pending.filter(({ held }) => now > jobs.deadlineMs(held) + leaseMs)) {
      logger.warn('a report was given up: its lease expired and the server does not answer', about(each.held));
      this.#settle(each, 'lost');
    }
    this.#forgetSettled();
  }

  #settle(pending: Pending, reported: Reported): void {
    if (pending.settled) return;
    pending.settled = true;
    this.#options.jobs.letGo(pending.held);
    this.#options.onReported(pending.held, reported);
  }

  /** All at once: a call settles hundreds. */
  #forgetSettled(): void {
    this.#pending = this.#pending.filter(({ settled }) => !settled);
    if (this.#pending.length > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const pauseFor = (failures: number): number =>
  Math.min(FIRST_PAUSE_MS * 2 ** failures, MOST_PAUSE_MS) * (0.75 + Math.random() / 2);

const sizeOf = (outcome: Outcome): number =>
  outcome.kind === 'completed' ? outcome.result.length : outcome.kind === 'failed' ? 2 * outcome.error.length : 0;

const about = ({ job }: HeldJob): { job: string; task: string } => ({ job: job.id, task: job.task });
