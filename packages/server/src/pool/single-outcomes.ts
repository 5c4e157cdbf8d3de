import { ERROR_STACK_MAX_BYTES, ERROR_TEXT_MAX_LENGTH } from '@millrace/contract';
import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';
import { cleanText, errorDetails, noHandlerHere } from '../domain/text.js';
import type { HeldJob } from '../engine/leases/bundle.js';
import type { Settler } from '../engine/outcomes/settle.js';
import { plainSettlement } from '../engine/outcomes/settlement.js';
import type { AttemptEnd } from './attempt.js';
import { loggedAttempt, type AttemptLog } from './attempt-log.js';
import type { DurableJobs } from './durable-jobs.js';
import type { HeldLeases } from './held-leases.js';
import type { KeptLogs } from './kept-logs.js';
import type { Pace } from './pace.js';
import { pause } from './pause.js';
import type { Progress } from './progress.js';

/**
 * Outcomes that are stored on their own, under the lease of their job: a job that is still in a bundle is separated
 * from it first. A job stays among the held leases, which keeps its lease alive, until its outcome is stored or we give
 * up storing it.
 */
export interface SingleOutcomesOptions {
  readonly settler: Settler;
  readonly heldLeases: HeldLeases;
  readonly durableJobs: Pick<DurableJobs, 'suspend'>;
  readonly keptLogs: Pick<KeptLogs, 'has' | 'store' | 'forget'>;
  readonly pace: Pick<Pace, 'settlementTook'>;
  readonly progress: Progress;
  readonly logger: Logger;
  readonly attemptLog: AttemptLog;
  /** How long to keep trying while the database is away: as long as the lease can last. */
  readonly triesMs: number;
}

const RETRY_MS = 1_000;

export class SingleOutcomes {
  readonly #storing = new Set<Promise<void>>();
  #characters = 0;
  #hurried = false;

  constructor(private readonly options: SingleOutcomesOptions) {}

  /** How many outcomes are not stored yet. */
  get size(): number {
    return this.#storing.size;
  }

  /** The total length of their results. */
  get characters(): number {
    return this.#characters;
  }

  /** From now on, failed attempts to store an outcome are not repeated. */
  hurry(): void {
    this.#hurried = true;
  }

  store(held: HeldJob, end: AttemptEnd): void {
    const characters = end.kind === 'completed' ? end.result.length : 0;
    this.#characters += characters;
    const settlement = this.#settle(held, end).finally(() => (this.#characters -= characters));
    this.#track(held, settlement);
  }

  noHandler(held: HeldJob): void {
    const error = cleanText(noHandlerHere(held.job.task_name), ERROR_TEXT_MAX_LENGTH);
    const failed = plainSettlement(held.job.id, held.leaseToken, 'failed');
    const reason = 'handler_not_found';
    const { settler, attemptLog } = this.options;
    const settlement = this.#persist(held, () => settler.settle({ ...failed, error, reason }));
    this.#track(
      held,
      settlement.then((acted) => {
        if (acted) attemptLog.deadLettered({ ...loggedAttempt(held.job), reason, error });
      }),
    );
  }

  #track(held: HeldJob, settlement: Promise<void>): void {
    const startedAt = performance.now();
    const settling = settlement.finally(() => {
      this.options.pace.settlementTook(performance.now() - startedAt);
      this.#storing.delete(settling);
      this.options.keptLogs.forget(held);
      this.options.heldLeases.remove(held);
      this.options.progress.made();
    });
    this.#storing.add(settling);
  }

  async #settle(held: HeldJob, end: AttemptEnd): Promise<void> {
    const { settler } = this.options;
    switch (end.kind) {
      case 'completed': {
        const { id, queue_name: queue, task_name: task } = held.job;
        const completion = { id, token: held.leaseToken, result: end.result, queue, task };
        await this.#persist(held, () => settler.complete(completion));
        return;
      }
      case 'failed':
        return this.#settleFailure(held, end);
      case 'suspended':
        await this.#persist(held, () => this.options.durableJobs.suspend(held, end.suspension));
        return;
      case 'interrupted':
        await this.#persist(held, () => settler.giveBack(held, 'released'));
        return;
      case 'lost':
        return;
    }
  }

  async #settleFailure(held: HeldJob, end: AttemptEnd & { readonly kind: 'failed' }): Promise<void> {
    const { settler, attemptLog } = this.options;
    const { id, retry_count: retryCount, config } = held.job;
    const attempt = loggedAttempt(held.job);
    attemptLog.failed({ ...attempt, error: end.cause });
    const error = cleanText(end.error, ERROR_TEXT_MAX_LENGTH);
    const details = end.how === 'timed_out' ? null : errorDetails(namedParts(end.cause), ERROR_STACK_MAX_BYTES);
    const { retryable, how } = end;
    const failure = { id, token: held.leaseToken, error, details, retryable, retryCount, config, how };
    const verdict = settler.judge(failure);
    if (!(await this.#persist(held, () => settler.fail(failure, verdict)))) return attemptLog.unsettled(attempt);
    if (verdict.kind === 'retry') attemptLog.retrying({ ...attempt, delaySecs: verdict.delaySecs });
    else attemptLog.deadLettered({ ...attempt, reason: verdict.reason, error });
  }

  /**
   * True if the outcome is stored. Retries while the database is away: losing the outcome to a short outage would mean
   * doing the work twice.
   */
  async #persist(held: HeldJob, settle: () => Promise<boolean>): Promise<boolean> {
    const { heldLeases, keptLogs, logger, triesMs } = this.options;
    const giveUpAt = performance.now() + triesMs;
    for (;;) {
      try {
        await heldLeases.separate(held);
        if (keptLogs.has(held)) await keptLogs.store(held);
        if (await settle()) return true;
        logger.debug({ job_id: held.job.id }, 'the lease was gone before the outcome could be stored');
        return false;
      } catch (error) {
        if (!isUnavailable(error) || this.#hurried || performance.now() > giveUpAt) {
          logger.warn(
            { err: error, job_id: held.job.id },
            'the outcome of a job could not be stored; it will run again',
          );
          return false;
        }
        await pause(RETRY_MS);
      }
    }
  }
}

/** Whatever was thrown need not be an error, and even of an error these may be anything. */
function namedParts(thrown: unknown): { readonly name?: string; readonly stack?: string } {
  if (!(thrown instanceof Error)) return {};
  const { name, stack } = thrown as { readonly name?: unknown; readonly stack?: unknown };
  return { ...(typeof name === 'string' && { name }), ...(typeof stack === 'string' && { stack }) };
}
