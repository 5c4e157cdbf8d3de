import { ERROR_STACK_MAX_BYTES, ERROR_TEXT_MAX_LENGTH } from '@millrace/contract';
import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';
import { cleanText, errorDetails } from '../domain/text.js';
import type { HeldJob } from '../engine/leases/bundle.js';
import type { Settler } from '../engine/outcomes/settle.js';
import { plainSettlement } from '../engine/outcomes/settlement.js';
import type { AttemptEnd } from './attempt.js';
import { loggedAttempt, type AttemptLog } from './attempt-log.js';
import type { HeldLeases } from './held-leases.js';
import { Outbox } from './outbox.js';
import type { Pace } from './pace.js';
import { pause } from './pause.js';
import type { StartGate } from './start-gate.js';

/**
 * Writes the ends of attempts to the database. Completions of bundled jobs are stored together (see Outbox); every
 * other outcome is stored on its own: the job is separated from its bundle, then settled under its own lease. A job
 * stays among the held leases, which keeps its lease alive, until its outcome is stored or we give up storing it.
 */
export interface OutcomeWriterOptions {
  readonly settler: Settler;
  readonly heldLeases: HeldLeases;
  readonly gate: Pick<StartGate, 'along'>;
  readonly pace: Pick<Pace, 'settlementTook'>;
  readonly logger: Logger;
  readonly attemptLog: AttemptLog;
  /** How long to keep trying while the database is away: as long as the lease can last. */
  readonly triesMs: number;
}

const RETRY_MS = 1_000;
/** When results that are not stored yet exceed this length, the pool claims nothing more. */
const FULL_CHARACTERS = 64 * 1024 * 1024;

export class OutcomeWriter {
  readonly #alone = new Set<Promise<void>>();
  readonly #outbox: Outbox;
  /** The total length of the results that are stored on their own. */
  #characters = 0;
  #hurried = false;

  constructor(
    private readonly options: OutcomeWriterOptions,
    private readonly onProgress: () => void,
  ) {
    this.#outbox = new Outbox({
      store: async (completions) => {
        const startedAt = performance.now();
        const missed = await options.gate.along((moves) => options.heldLeases.completeBundled(completions, moves));
        options.pace.settlementTook(performance.now() - startedAt);
        return missed;
      },
      stored: onProgress,
      missed: ({ held, result }) => this.#settleAlone(held, { kind: 'completed', result }),
    });
  }

  /** How many outcomes are not stored yet. */
  get size(): number {
    return this.#alone.size + this.#outbox.size;
  }

  /** Results that are not stored yet take up as much memory as we allow them. */
  get isFull(): boolean {
    return this.#characters + this.#outbox.characters > FULL_CHARACTERS;
  }

  /** From now on, failed attempts to store an outcome are not repeated. */
  hurry(): void {
    this.#hurried = true;
  }

  store(held: HeldJob, end: AttemptEnd): void {
    if (end.kind === 'completed' && this.options.heldLeases.isBundled(held))
      this.#outbox.add({ held, result: end.result });
    else this.#settleAlone(held, end);
  }

  noHandler(held: HeldJob): void {
    const error = cleanText(`no handler is registered for task "${held.job.task_name}"`, ERROR_TEXT_MAX_LENGTH);
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

  #settleAlone(held: HeldJob, end: AttemptEnd): void {
    const characters = end.kind === 'completed' ? end.result.length : 0;
    this.#characters += characters;
    const settlement = this.#settle(held, end).finally(() => (this.#characters -= characters));
    this.#track(held, settlement);
  }

  #track(held: HeldJob, settlement: Promise<void>): void {
    const startedAt = performance.now();
    const settling = settlement.finally(() => {
      this.options.pace.settlementTook(performance.now() - startedAt);
      this.#alone.delete(settling);
      this.options.heldLeases.remove(held);
      this.onProgress();
    });
    this.#alone.add(settling);
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
    if (!(await this.#persist(held, () => settler.fail(failure, verdict)))) return;
    if (verdict.kind === 'retry') attemptLog.retrying({ ...attempt, delaySecs: verdict.delaySecs });
    else attemptLog.deadLettered({ ...attempt, reason: verdict.reason, error });
  }

  /**
   * True if the outcome is stored. Retries while the database is away: losing the outcome to a short outage would mean
   * doing the work twice.
   */
  async #persist(held: HeldJob, settle: () => Promise<boolean>): Promise<boolean> {
    const { heldLeases, logger, triesMs } = this.options;
    const giveUpAt = performance.now() + triesMs;
    for (;;) {
      try {
        await heldLeases.separate(held);
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
