import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';
import { cleanText } from '../domain/text.js';
import type { Claimer } from '../engine/claim.js';
import type { Hub } from '../engine/hub.js';
import type { Settler } from '../engine/settle.js';
import { plainSettlement } from '../engine/settlement.js';
import type { LeasedJob } from '../engine/types.js';
import type { Handlers } from '../handlers/types.js';
import { Attempt, type AttemptEnd } from './attempt.js';
import type { Holdings } from './holdings.js';

/**
 * Runs the jobs of the default queue inside the server, `workers` at a time.
 *
 * A job in hand is: buffered (claimed, not started) → running → settling (its end is on the way to the database) → out of hand. It is
 * under a lease from the first to the last, which `Holdings` keeps alive.
 *
 * How many to have in hand: as many as there are workers, and where handlers are fast, as many as they finish in AHEAD_SECS, so that claims
 * are few and large under load and nothing waits here that an idle process elsewhere could run.
 */
export interface WorkerPoolOptions {
  readonly queue: string;
  readonly workers: number;
  readonly handlers: Handlers;
  readonly claimer: Claimer;
  readonly settler: Settler;
  readonly hub: Hub;
  readonly holdings: Holdings;
  readonly logger: Logger;
}

export const POOL_LEASE_SECS = 30;
const AHEAD_SECS = 0.05;
const MAX_CLAIM = 500;
const MAX_IN_HAND = 1_000;
const CLAIMS_IN_FLIGHT = 2;
const SAFETY_POLL_MS = 5_000;
const TICK_MS = 50;
const RETRY_MS = 1_000;
const BUSY_MS = 20;
/** After the signal, how long a handler may take to come back before the process goes on without it. */
const GRACE_MS = 1_000;
const MAX_ERROR_LENGTH = 65_536;

export class WorkerPool {
  #buffer: LeasedJob[] = [];
  readonly #running = new Set<Attempt>();
  readonly #settling = new Set<Promise<void>>();
  #claiming = 0;
  #claimingSlots = 0;
  #stopping = false;
  #news = false;
  /** The last claim came short and nothing has been heard since: asking again would find nothing. */
  #dry = false;
  #timer: NodeJS.Timeout | null = null;
  #tick: NodeJS.Timeout | null = null;
  #idle: (() => void) | null = null;
  #unsubscribe: (() => void) | null = null;
  #rate = 0;
  #finished = 0;
  #measuredAt = performance.now();

  constructor(private readonly options: WorkerPoolOptions) {}

  start(): void {
    this.#unsubscribe = this.options.hub.onWork(this.options.queue, () => this.#wake());
    this.options.holdings.start((token) => this.#lose(token));
    this.#refill();
  }

  /** Gives back what has not started, waits for what has, and past the deadline interrupts that too. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    this.#unsubscribe?.();
    if (this.#timer) clearTimeout(this.#timer);
    this.#releaseBuffer();
    await Promise.race([this.#quiet(), wait(deadlineMs)]);
    for (const attempt of this.#running) attempt.interrupt();
    await Promise.race([this.#quiet(), wait(GRACE_MS)]);
    await this.options.holdings.stop();
    if (this.#tick) clearInterval(this.#tick);
  }

  get busy(): number {
    return this.#running.size;
  }

  get size(): number {
    return this.options.workers;
  }

  #wake(): void {
    this.#news = true;
    this.#lookAgain();
  }

  #lookAgain(): void {
    this.#dry = false;
    this.#refill();
  }

  /** Claims as much as there is room for, if there is room worth a statement. */
  #refill(): void {
    const target = this.#target();
    while (!this.#stopping && !this.#dry && this.#claiming < CLAIMS_IN_FLIGHT) {
      const room = target - this.#buffer.length - this.#running.size - this.#claimingSlots;
      const starving = this.#buffer.length === 0 && this.#claiming === 0;
      if (room <= 0 || (!starving && room * 2 < target)) return;
      void this.#claim(Math.min(room, MAX_CLAIM));
    }
  }

  async #claim(n: number): Promise<void> {
    this.#claiming++;
    this.#claimingSlots += n;
    this.#news = false;
    let claimed: LeasedJob[] | null = null;
    try {
      const slots = Array.from({ length: n }, () => ({ token: randomUUID(), leaseSecs: POOL_LEASE_SECS }));
      claimed = await this.options.claimer.claim(this.options.queue, slots);
    } catch (error) {
      const level = isUnavailable(error) ? 'debug' : 'warn';
      this.options.logger[level]({ err: error }, 'cannot claim jobs; trying again');
    }
    this.#claiming--;
    this.#claimingSlots -= n;
    // Before the jobs are taken in: starting them asks for more at once, and there is no more.
    this.#dry = claimed === null || (claimed.length < n && !this.#news);
    if (claimed) this.#accept(claimed);
    this.#signalIfQuiet();
    if (this.#dry) await this.#setAlarm(claimed === null);
    else this.#refill();
  }

  #accept(jobs: readonly LeasedJob[]): void {
    for (const leased of jobs) this.options.holdings.add(leased);
    this.#buffer = this.#buffer.length === 0 ? [...jobs] : this.#buffer.concat(jobs);
    if (this.#stopping) this.#releaseBuffer();
    this.#dispatch();
  }

  #dispatch(): void {
    let next = 0;
    while (this.#running.size < this.options.workers && next < this.#buffer.length) {
      const leased = this.#buffer[next++];
      if (leased) this.#begin(leased);
    }
    if (next > 0) this.#buffer = this.#buffer.slice(next);
    if (this.#running.size > 0) this.#tick ??= setInterval(() => this.#checkTimeouts(), TICK_MS);
    this.#refill();
  }

  #begin(leased: LeasedJob): void {
    const { job } = leased;
    const handler = Object.hasOwn(this.options.handlers, job.task_name)
      ? this.options.handlers[job.task_name]
      : undefined;
    if (!handler) return this.#hand(leased, this.#noHandler(leased));
    const attempt = new Attempt(leased, handler, this.options.logger);
    this.#running.add(attempt);
    void attempt.ended.then((end) => {
      this.#running.delete(attempt);
      this.#finished++;
      this.#hand(leased, this.#settle(leased, end));
      this.#dispatch();
    });
  }

  /** Off the worker's hands: the slot is free while the end is on its way to the database. */
  #hand(leased: LeasedJob, settlement: Promise<void>): void {
    const settling = settlement.finally(() => {
      this.#settling.delete(settling);
      this.options.holdings.remove(leased);
      this.#signalIfQuiet();
    });
    this.#settling.add(settling);
  }

  #noHandler(leased: LeasedJob): Promise<void> {
    const error = `no handler is registered for task "${leased.job.task_name}"`;
    return this.#persist(leased, () =>
      this.options.settler.settle({
        ...plainSettlement(leased.job.id, leased.leaseToken, 'failed'),
        error: cleanText(error, MAX_ERROR_LENGTH),
        reason: 'handler_not_found',
      }),
    );
  }

  async #settle(leased: LeasedJob, end: AttemptEnd): Promise<void> {
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

  /** The work is done; losing its outcome to a short outage would mean doing it twice. Tries for as long as the lease can last. */
  async #persist(leased: LeasedJob, settle: () => Promise<boolean>): Promise<void> {
    const giveUpAt = performance.now() + POOL_LEASE_SECS * 1000;
    for (;;) {
      try {
        if (!(await settle()))
          this.options.logger.debug({ job_id: leased.job.id }, 'the lease was gone before the outcome could be stored');
        return;
      } catch (error) {
        if (!isUnavailable(error) || this.#stopping || performance.now() > giveUpAt) {
          this.options.logger.warn(
            { err: error, job_id: leased.job.id },
            'the outcome of a job could not be stored; it will run again',
          );
          return;
        }
        await wait(RETRY_MS);
      }
    }
  }

  #lose(token: string): void {
    for (const attempt of this.#running) if (attempt.leased.leaseToken === token) attempt.lose();
    const lost = this.#buffer.find((leased) => leased.leaseToken === token);
    if (!lost) return;
    this.#buffer = this.#buffer.filter((leased) => leased !== lost);
    this.options.holdings.remove(lost);
  }

  #releaseBuffer(): void {
    const unstarted = this.#buffer;
    this.#buffer = [];
    for (const leased of unstarted)
      this.#hand(
        leased,
        this.#persist(leased, () => this.options.settler.giveBack(leased, 'released')),
      );
  }

  #checkTimeouts(): void {
    const now = performance.now();
    for (const attempt of this.#running) attempt.checkTimeout(now);
    if (this.#running.size === 0 && this.#tick) {
      clearInterval(this.#tick);
      this.#tick = null;
    }
  }

  /** When to look again if nobody calls: at the next job's instant, or to be safe. */
  async #setAlarm(failed: boolean): Promise<void> {
    const nextMs = failed
      ? RETRY_MS
      : await this.options.claimer.nextDue(this.options.queue).then(dueMs, () => RETRY_MS);
    if (this.#stopping) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lookAgain(), Math.min(nextMs, SAFETY_POLL_MS));
  }

  #target(): number {
    const now = performance.now();
    const elapsed = (now - this.#measuredAt) / 1000;
    if (elapsed >= 0.01) {
      this.#rate = this.#finished / elapsed;
      this.#finished = 0;
      this.#measuredAt = now;
    }
    return Math.min(MAX_IN_HAND, Math.max(this.options.workers, Math.ceil(this.#rate * AHEAD_SECS)));
  }

  #signalIfQuiet(): void {
    if (this.#isQuiet()) this.#idle?.();
  }

  #quiet(): Promise<void> {
    return this.#isQuiet() ? Promise.resolve() : new Promise((resolve) => (this.#idle = resolve));
  }

  /** Nothing in hand and nothing on its way here: a claim in flight may still bring jobs that have to be given back. */
  #isQuiet(): boolean {
    return this.#running.size === 0 && this.#settling.size === 0 && this.#claiming === 0;
  }
}

/** A job that is due and still was not claimed is just being claimed by somebody else. */
const dueMs = (secs: number | null): number => (secs === null ? Infinity : Math.max(BUSY_MS, secs * 1000 + 2));

const wait = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref());
