import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';
import { dueDelayMs } from '../engine/leases/due-delay.js';
import type { HeldJob } from '../engine/leases/bundle.js';
import type { Claimer } from '../engine/leases/claim.js';
import type { Hub } from '../engine/shared/hub.js';
import type { Settler } from '../engine/outcomes/settle.js';
import { pooledSlots } from '../engine/leases/slots.js';
import type { Handlers } from '../handlers/types.js';
import { pause } from './pause.js';
import { Attempt, type AttemptEnd } from './attempt.js';
import { OutcomeWriter } from './outcome-writer.js';
import type { HeldLeases } from './held-leases.js';

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
  /** Bounds the result of a handler. */
  readonly maxPayloadBytes: number;
  readonly handlers: Handlers;
  readonly claimer: Claimer;
  readonly settler: Settler;
  readonly hub: Hub;
  readonly heldLeases: HeldLeases;
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
/** For so long handlers that never wait may keep everything else waiting. */
const SLICE_MS = 10;
/** After the signal, how long a handler may take to come back before the process goes on without it. */
const GRACE_MS = 1_000;

export class WorkerPool {
  #buffer: HeldJob[] = [];
  readonly #running = new Set<Attempt>();
  readonly #outcomes: OutcomeWriter;
  #claiming = 0;
  #claimingSlots = 0;
  #dispatching = false;
  #stopping = false;
  #news = false;
  /** The last claim came short and nothing has been heard since: asking again would find nothing. */
  #dry = false;
  /** The last claim ended because its jobs are large: those are worked off before more are asked for. */
  #cut = false;
  #timer: NodeJS.Timeout | null = null;
  #tick: NodeJS.Timeout | null = null;
  #idle: (() => void) | null = null;
  #unsubscribe: (() => void) | null = null;
  #rate = 0;
  #finished = 0;
  #measuredAt = performance.now();

  constructor(private readonly options: WorkerPoolOptions) {
    const { settler, heldLeases, logger } = options;
    this.#outcomes = new OutcomeWriter({ settler, heldLeases, logger, triesMs: POOL_LEASE_SECS * 1000 }, () =>
      this.#signalIfQuiet(),
    );
  }

  start(): void {
    this.#unsubscribe = this.options.hub.onWork(this.options.queue, () => this.#wake());
    this.options.heldLeases.start((leased) => this.#lose(leased));
    this.#refill();
  }

  /** Gives back what has not started, waits for what has, and past the deadline interrupts that too. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    this.#outcomes.hurry();
    this.#unsubscribe?.();
    if (this.#timer) clearTimeout(this.#timer);
    this.#releaseBuffer();
    await Promise.race([this.#quiet(), pause(deadlineMs)]);
    for (const attempt of this.#running) attempt.interrupt();
    await Promise.race([this.#quiet(), pause(GRACE_MS)]);
    await this.options.heldLeases.stop();
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
      if (room <= 0 || (!starving && (this.#cut || room * 2 < target))) return;
      void this.#claim(Math.min(room, MAX_CLAIM));
    }
  }

  async #claim(n: number): Promise<void> {
    this.#claiming++;
    this.#claimingSlots += n;
    this.#news = false;
    let claimed: HeldJob[] | null = null;
    try {
      const claim = await this.options.claimer.claim(this.options.queue, pooledSlots(n, POOL_LEASE_SECS));
      claimed = claim.jobs;
      this.#cut = claim.cut;
    } catch (error) {
      const level = isUnavailable(error) ? 'debug' : 'warn';
      this.options.logger[level]({ err: error }, 'cannot claim jobs; trying again');
    }
    this.#claiming--;
    this.#claimingSlots -= n;
    // Before the jobs are taken in: starting them asks for more at once, and there is no more.
    this.#dry = claimed === null || (claimed.length < n && !this.#cut && !this.#news);
    if (claimed) this.#accept(claimed);
    this.#signalIfQuiet();
    if (this.#dry) await this.#setAlarm(claimed === null);
    else this.#refill();
  }

  #accept(jobs: readonly HeldJob[]): void {
    for (const leased of jobs) this.options.heldLeases.add(leased);
    this.#buffer = this.#buffer.length === 0 ? [...jobs] : this.#buffer.concat(jobs);
    if (this.#stopping) this.#releaseBuffer();
    this.#dispatch();
  }

  /** Starts what there are workers for. A handler that does not wait ends within its start, so this may go through all there is. */
  #dispatch(): void {
    if (this.#dispatching) return;
    this.#dispatching = true;
    const until = performance.now() + SLICE_MS;
    let next = 0;
    while (this.#running.size < this.options.workers && next < this.#buffer.length) {
      const leased = this.#buffer[next++];
      if (leased) this.#begin(leased);
      if (performance.now() > until) {
        setImmediate(() => this.#dispatch());
        break;
      }
    }
    if (next > 0) this.#buffer = this.#buffer.slice(next);
    this.#dispatching = false;
    if (this.#running.size > 0) this.#tick ??= setInterval(() => this.#checkTimeouts(), TICK_MS);
    this.#refill();
  }

  #begin(leased: HeldJob): void {
    const { job } = leased;
    const handler = Object.hasOwn(this.options.handlers, job.task_name)
      ? this.options.handlers[job.task_name]
      : undefined;
    if (!handler) return this.#outcomes.noHandler(leased);
    const attempt = new Attempt(leased, this.#onEnd);
    this.#running.add(attempt);
    attempt.start(handler, this.options.logger);
  }

  readonly #onEnd = (attempt: Attempt, end: AttemptEnd): void => {
    this.#running.delete(attempt);
    this.#finished++;
    this.#outcomes.store(attempt.leased, end);
    this.#dispatch();
  };

  #lose(leased: HeldJob): void {
    for (const attempt of this.#running) if (attempt.leased === leased) attempt.lose();
    this.#buffer = this.#buffer.filter((each) => each !== leased);
    this.options.heldLeases.remove(leased);
  }

  #releaseBuffer(): void {
    const unstarted = this.#buffer;
    this.#buffer = [];
    for (const leased of unstarted) this.#outcomes.store(leased, { kind: 'interrupted' });
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
      : await this.options.claimer.nextDue(this.options.queue).then(dueDelayMs, () => RETRY_MS);
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
    return this.#running.size === 0 && this.#outcomes.size === 0 && this.#claiming === 0;
  }
}
