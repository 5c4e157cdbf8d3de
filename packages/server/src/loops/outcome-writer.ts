import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';
import { cleanText } from '../domain/text.js';
import type { HeldJob } from '../engine/leases/bundle.js';
import type { Settler } from '../engine/outcomes/settle.js';
import { plainSettlement } from '../engine/outcomes/settlement.js';
import type { AttemptEnd } from './attempt.js';
import type { HeldLeases } from './held-leases.js';
import { Outbox } from './outbox.js';
import { pause } from './pause.js';

/**
 * The ends of attempts on their way to the database. Completions of bundled jobs go together (see Outbox); everything else goes one by one,
 * by way of a lease of its own. A job is among the heldLeases, and its lease kept alive, until its end is stored or given up.
 */
export interface OutcomeWriterOptions {
  readonly settler: Settler;
  readonly heldLeases: HeldLeases;
  readonly logger: Logger;
  /** For how long to try while the database is away: as long as the lease can last. */
  readonly triesMs: number;
}

const RETRY_MS = 1_000;
const MAX_ERROR_LENGTH = 65_536;

export class OutcomeWriter {
  readonly #alone = new Set<Promise<void>>();
  readonly #outbox: Outbox;
  #hurried = false;

  constructor(
    private readonly options: OutcomeWriterOptions,
    private readonly onProgress: () => void,
  ) {
    this.#outbox = new Outbox({
      store: (completions) => options.settler.completeBundled(completions),
      stored: (completions) => {
        for (const { leased } of completions) options.heldLeases.remove(leased);
        onProgress();
      },
      missed: ({ leased, result }) => this.#goAlone(leased, { kind: 'completed', result }),
    });
  }

  /** How many are on their way. */
  get size(): number {
    return this.#alone.size + this.#outbox.size;
  }

  /** From now on nothing is tried twice. */
  hurry(): void {
    this.#hurried = true;
  }

  store(leased: HeldJob, end: AttemptEnd): void {
    if (end.kind === 'completed' && leased.bundle)
      this.#outbox.add({ leased, bundle: leased.bundle, result: end.result });
    else this.#goAlone(leased, end);
  }

  noHandler(leased: HeldJob): void {
    const error = cleanText(`no handler is registered for task "${leased.job.task_name}"`, MAX_ERROR_LENGTH);
    const failed = plainSettlement(leased.job.id, leased.leaseToken, 'failed');
    this.#track(
      leased,
      this.#persist(leased, () => this.options.settler.settle({ ...failed, error, reason: 'handler_not_found' })),
    );
  }

  #goAlone(leased: HeldJob, end: AttemptEnd): void {
    this.#track(leased, this.#settle(leased, end));
  }

  #track(leased: HeldJob, settlement: Promise<void>): void {
    const settling = settlement.finally(() => {
      this.#alone.delete(settling);
      this.options.heldLeases.remove(leased);
      this.onProgress();
    });
    this.#alone.add(settling);
  }

  async #settle(leased: HeldJob, end: AttemptEnd): Promise<void> {
    const { settler } = this.options;
    const { id, retry_count: retryCount, config } = leased.job;
    const token = leased.leaseToken;
    switch (end.kind) {
      case 'completed':
        return this.#persist(leased, () => settler.complete({ id, token, result: end.result }));
      case 'failed': {
        const error = cleanText(end.error, MAX_ERROR_LENGTH);
        return this.#persist(leased, () =>
          settler.fail({ id, token, error, retryable: end.retryable, retryCount, config }),
        );
      }
      case 'interrupted':
        return this.#persist(leased, () => settler.giveBack(leased, 'released'));
      case 'lost':
        return;
    }
  }

  /** The work is done; losing its outcome to a short outage would mean doing it twice. */
  async #persist(leased: HeldJob, settle: () => Promise<boolean>): Promise<void> {
    const { logger, triesMs } = this.options;
    const giveUpAt = performance.now() + triesMs;
    for (;;) {
      try {
        await this.#separate(leased);
        if (!(await settle()))
          logger.debug({ job_id: leased.job.id }, 'the lease was gone before the outcome could be stored');
        return;
      } catch (error) {
        if (!isUnavailable(error) || this.#hurried || performance.now() > giveUpAt) {
          logger.warn(
            { err: error, job_id: leased.job.id },
            'the outcome of a job could not be stored; it will run again',
          );
          return;
        }
        await pause(RETRY_MS);
      }
    }
  }

  async #separate(leased: HeldJob): Promise<void> {
    if (!leased.bundle) return;
    await this.options.settler.unbundle({ tenant: leased.job.tenant_id, id: leased.job.id, token: leased.leaseToken });
    this.options.heldLeases.separate(leased);
  }
}
