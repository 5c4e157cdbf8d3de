import { AuthError, MillraceError } from '../../errors/call-errors.js';
import { pause } from '../../http/deadline.js';
import type { Transport } from '../../http/transport.js';
import type { Logger } from '../../shared/logger.js';
import type { LeaseRequest, LeaseResponse, LeasedJob } from '../../wire/index.js';
import { monotonicMs } from '../clock.js';
import { CALL_MS, retryAfterMs } from '../calls/calls.js';

/** What a poll brought. */
export interface Claimed {
  readonly jobs: readonly LeasedJob[];
  /** The text of the whole answer. */
  readonly answer: string;
  /** The monotonic instant before the call: the lease lasts at least from there. */
  readonly calledAt: number;
}

export interface PollerOptions {
  readonly queue: string;
  readonly transport: Transport;
  readonly logger: Logger;
  readonly leaseSecs: number;
  readonly pollSecs: number;
  readonly name: string;
  /** What the worker offers on this queue: how many jobs it can hold, and which tasks it knows. */
  readonly offer: Pick<LeaseRequest, 'slots' | 'tasks'>;
  /** How many jobs could start now. */
  readonly free: () => number;
  /** Resolves when there may be more of them than before, or on stop. */
  readonly slotFreed: () => Promise<void>;
  readonly onPoll: () => void;
  readonly onClaimed: (claimed: Claimed) => void;
  /** The server does not accept the token: no poll will succeed. */
  readonly onRefused: (error: AuthError) => void;
}

const MOST_PER_CALL = 100;
/** The least time between two polls that bring nothing. */
const QUIET_MS = 1_000;
const FIRST_BACKOFF_MS = 1_000;
const MOST_BACKOFF_MS = 30_000;

/** One long poll at a time, for as many jobs as there are free slots: nothing waits in hand. */
export class Poller {
  readonly #options: PollerOptions;
  readonly #stopping = new AbortController();
  readonly #hangUp = new AbortController();
  #failures = 0;
  /** An older server refuses an offer; it has no use for one. */
  #offers = true;
  readonly #done: Promise<void>;

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#done = this.#run();
  }

  /**
   * Polls no more. An open poll has `graceMs` to end by itself: hanging up on an answer that is under way would lose
   * its jobs for a lease. A queue with work answers at once; an idle one has nothing under way.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    // A process that stood still finds its timers due before it reads what has arrived meanwhile: reading comes first.
    const timer = setTimeout(() => void readWhatIsThere().then(() => this.hangUp()), graceMs);
    await this.#done;
    clearTimeout(timer);
  }

  /** Ends an open poll now. */
  hangUp(): void {
    this.#hangUp.abort();
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const free = Math.min(this.#options.free(), MOST_PER_CALL);
      if (free <= 0) await this.#options.slotFreed();
      else await this.#poll(free);
    }
  }

  async #poll(free: number): Promise<void> {
    const { queue, transport, leaseSecs, pollSecs, name, offer, onClaimed, onPoll } = this.#options;
    const request = { max_jobs: free, lease_secs: leaseSecs, wait_secs: pollSecs, worker_id: name };
    const calledAt = monotonicMs();
    onPoll();
    try {
      const { body, text } = await transport.call<LeaseResponse>({
        method: 'POST',
        path: `/queues/${encodeURIComponent(queue)}/lease`,
        body: this.#offers ? { ...request, ...offer } : request,
        timeoutMs: pollSecs * 1_000 + CALL_MS,
        signal: this.#hangUp.signal,
      });
      this.#failures = 0;
      // A server that is about to stop, or does not wait, answers at once: it must not be asked in a tight loop.
      const atLeast = calledAt + QUIET_MS - monotonicMs();
      if (body.jobs.length === 0) return await pause(Math.max(0, atLeast), this.#stopping.signal);
      onClaimed({ jobs: body.jobs, answer: text, calledAt });
    } catch (error) {
      await this.#recover(error);
    }
  }

  async #recover(error: unknown): Promise<void> {
    if (this.#hangUp.signal.aborted) return;
    if (error instanceof AuthError) {
      this.#stopping.abort();
      return this.#options.onRefused(error);
    }
    if (this.#offers && error instanceof MillraceError && error.code === 'invalid_request') {
      this.#offers = false;
      return;
    }
    // A bug of ours is not the server's fault, but it must not end the worker either.
    const message = error instanceof MillraceError ? error.message : String((error as Error).stack);
    const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** this.#failures++, MOST_BACKOFF_MS);
    const waitMs = Math.max(retryAfterMs(error) ?? 0, backoff * (0.75 + Math.random() / 4));
    this.#options.logger.warn(`cannot lease: ${message}; trying again in ${(waitMs / 1_000).toFixed(1)} s`);
    await pause(Math.min(waitMs, MOST_BACKOFF_MS), this.#stopping.signal);
  }
}

/** Some turns of the event loop: the first reads from the connection, the others are those of the answer on its way. */
async function readWhatIsThere(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const TURNS = 5;
