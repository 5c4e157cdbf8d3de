import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';
import { dueDelayMs } from '../engine/leases/due-delay.js';
import type { HeldJob } from '../engine/leases/bundle.js';
import type { Claim, Claimer } from '../engine/leases/claim.js';
import type { Holder } from '../engine/leases/claimed-job.js';
import type { Hub } from '../engine/shared/hub.js';
import { pooledSlots, type Slots } from '../engine/leases/slots.js';
import type { Handlers } from '../handlers/types.js';
import { Pace } from './pace.js';
import { pause } from './pause.js';
import type { Tracer } from '../telemetry/tracing.js';
import { Executor } from './executor.js';
import { JobBuffer } from './job-buffer.js';
import { openLanes, type LaneParts, type Lanes } from './lanes.js';
import { Progress } from './progress.js';
import { Sizing, type InHand } from './sizing.js';
import { marked, StartGate } from './start-gate.js';

/**
 * Runs the jobs of the default queue inside the server, `workers` at a time. A job goes one way:
 *
 *   claim → StartGate → Executor → OutcomeWriter → Settler
 *
 * Each stage knows those after it and none before it. Whichever has made room says so through Progress, and the pool
 * starts and claims what it can. HeldLeases, beside them, knows how each job is held.
 *
 * The pool holds a job as: buffered (claimed, not started) → running → settling (its outcome is on its way to the
 * database) → gone. The job is under a lease all that time, and `HeldLeases` keeps the lease alive.
 *
 * Including the jobs that are settling, the pool never holds more than `inHand` of its limits (sizing.ts), and it
 * claims nothing while the outcome writer is full: a database that stores no outcomes gets no claims either. One of
 * several that is held up is left out, and its jobs wait apart, so that those of the others go on.
 */
export interface WorkerPoolOptions {
  readonly queue: string;
  readonly workers: number;
  /** Shown on the jobs that it runs. */
  readonly name: string;
  /** A handler's result that is larger than this fails the job permanently. */
  readonly maxPayloadBytes: number;
  readonly handlers: Handlers;
  readonly claimer: PoolClaims;
  readonly hub: Pick<Hub, 'onWork'>;
  /** What holds its jobs and stores how they ended, for each database; `laneOf` says which of them a job is in. */
  readonly lanes: readonly LaneParts[];
  readonly laneOf: ((held: HeldJob) => number) | null;
  readonly logger: Logger;
  /** Null: nothing is traced. */
  readonly tracer: Tracer | null;
  /** How often it looks for jobs without any news. */
  readonly safetyPollMs?: number | undefined;
}

/** `passesOver`: these of several databases, by their places, are left out. */
export interface PoolClaims extends Pick<Claimer, 'nextDue' | 'isClosed'> {
  claim(queue: string, slots: Slots, passesOver: (place: number) => boolean): Promise<Claim>;
}

export const POOL_LEASE_SECS = 30;
const CLAIMS_IN_FLIGHT = 2;
export const SAFETY_POLL_MS = 5_000;
const TICK_MS = 50;
const RETRY_MS = 1_000;
/** How long starting jobs may block the event loop: parsing their payloads, and handlers up to their first wait. */
const SLICE_MS = 10;
/** How long a handler may take to return after its signal before we stop waiting for it. */
const GRACE_MS = 1_000;

export class WorkerPool {
  readonly #buffer = new JobBuffer();
  readonly #lanes: Lanes;
  readonly #gate: StartGate;
  readonly #executor: Executor;
  readonly #holder: Holder;
  readonly #sizing: Sizing;
  #claiming = 0;
  #claimingSlots = 0;
  /** Claims of which a part may still come. */
  #late = 0;
  #dispatching = false;
  /** When the first job was started in this turn of the event loop; null: none was. */
  #sliceFrom: number | null = null;
  #stopping = false;
  #news = false;
  /** The last claim got fewer jobs than it asked for, with no news since: another claim would find nothing. */
  #dry = false;
  /** The last claim ended because its jobs are large: the pool works through those before it asks for more. */
  #cut = false;
  #timer: NodeJS.Timeout | null = null;
  #tick: NodeJS.Timeout | null = null;
  #idle: (() => void) | null = null;
  #unsubscribe: (() => void) | null = null;
  readonly #pace = new Pace(performance.now());

  constructor(private readonly options: WorkerPoolOptions) {
    this.#sizing = new Sizing(this.#pace, options.workers, options.laneOf !== null);
    const { name, lanes, laneOf, handlers, maxPayloadBytes, logger, tracer } = options;
    const pace = this.#pace;
    const progress = new Progress();
    this.#holder = { workerId: name, leaseSecs: POOL_LEASE_SECS };
    const writing = { pace, progress, logger, triesMs: POOL_LEASE_SECS * 1000 };
    const { keptLogs, durableJobs, outcomes, heldLeases, marks } = (this.#lanes = openLanes(lanes, laneOf, writing));
    const running = { handlers, maxPayloadBytes, keptLogs, durableJobs, outcomes, pace, progress, logger, tracer };
    this.#executor = new Executor(running);
    this.#gate = new StartGate(marks, heldLeases, outcomes, laneOf !== null);
    progress.onMade(() => {
      this.#dispatch();
      this.#signalIfQuiet();
    });
  }

  start(): void {
    const { hub, queue, claimer } = this.options;
    this.#unsubscribe = hub.onWork(queue, () => {
      if (!claimer.isClosed(queue)) this.#wake();
    });
    this.#lanes.heldLeases.start((leased) => this.#lose(leased));
    this.#refill();
  }

  /** The databases are others from now on. */
  useLanes(lanes: readonly LaneParts[]): void {
    this.#lanes.use(lanes);
  }

  /** Gives back the jobs that have not started, waits for those that have, and interrupts them after the deadline. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    this.#lanes.outcomes.hurry();
    this.#unsubscribe?.();
    if (this.#timer) clearTimeout(this.#timer);
    this.#releaseBuffer();
    await Promise.race([this.#quiet(), pause(deadlineMs)]);
    this.#executor.interrupt();
    await Promise.race([this.#quiet(), pause(GRACE_MS)]);
    await this.#lanes.heldLeases.stop();
    this.#lanes.keptLogs.stop();
    if (this.#tick) clearInterval(this.#tick);
  }

  get busy(): number {
    return this.#executor.size;
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

  /** Claims as many jobs as there is room for, if there is enough room to be worth a statement. */
  #refill(): void {
    while (!this.#stopping && !this.#dry && this.#claiming < CLAIMS_IN_FLIGHT && !this.#lanes.outcomes.isFull) {
      const starving = this.#buffer.ready.length === 0 && this.#claiming === 0;
      const n = this.#sizing.nextClaim(this.#inHand(), starving, this.#cut);
      if (n === 0) return;
      void this.#claim(n);
    }
  }

  #inHand(): InHand {
    const { size, due } = this.#lanes.outcomes;
    return {
      buffered: this.#buffer.ready.length,
      running: this.#executor.size,
      claiming: this.#claimingSlots,
      settling: due,
      heldUp: this.#buffer.aside + size - due,
    };
  }

  async #claim(n: number): Promise<void> {
    this.#claiming++;
    this.#claimingSlots += n;
    this.#news = false;
    let claimed: HeldJob[] | null = null;
    const startedAt = performance.now();
    const slots = pooledSlots(n, this.#holder, this.#startableAtOnce());
    try {
      const claim = await this.options.claimer.claim(this.options.queue, slots, this.#lanes.isHeldUp);
      claimed = claim.jobs;
      this.#cut = claim.cut;
      if (claim.later) void this.#acceptLate(claim.later);
      this.#pace.claimTook(performance.now() - startedAt);
    } catch (error) {
      const level = isUnavailable(error) ? 'debug' : 'warn';
      this.options.logger[level]({ err: error }, 'cannot claim jobs; trying again');
    }
    this.#claiming--;
    this.#claimingSlots -= n;
    // Set before the jobs are accepted: starting them asks for more at once, and there is no more.
    this.#dry = claimed === null || (claimed.length < n && !this.#cut && !this.#news);
    if (claimed) this.#accept(claimed);
    this.#signalIfQuiet();
    if (this.#dry) await this.#setAlarm(claimed === null);
    else this.#refill();
  }

  /** Of a database that took too long. It holds them for this pool, which must keep their leases alive. */
  async #acceptLate(later: Promise<readonly HeldJob[]>): Promise<void> {
    this.#late++;
    const jobs = await later;
    this.#late--;
    if (jobs.length > 0) this.#accept(jobs);
    this.#signalIfQuiet();
  }

  #accept(jobs: readonly HeldJob[]): void {
    for (const leased of jobs) this.#lanes.heldLeases.add(leased);
    this.#buffer.add(jobs);
    if (this.#stopping) this.#releaseBuffer();
    this.#dispatch();
  }

  /**
   * Starts as many jobs as there are free workers, for SLICE_MS in each turn of the event loop. A synchronous handler
   * ends within its start, so one call may work through the whole buffer; one that waits for nothing ends before the
   * turn does, and calls again.
   */
  #dispatch(): void {
    if (this.#dispatching) return;
    this.#dispatching = true;
    const startedAt = performance.now();
    const sliceEnd = (this.#sliceFrom ?? startedAt) + SLICE_MS;
    this.#pace.note(startedAt, this.#executor.size > 0);
    let next = 0;
    let now = startedAt;
    const { ready } = this.#buffer;
    while (this.#executor.size < this.options.workers && next < ready.length && now <= sliceEnd) {
      const held = ready[next]!;
      if (!this.#gate.mayStart(held, now)) break;
      if (this.#sliceFrom === null) this.#beginSlice(now);
      next++;
      this.#gate.started(held, now);
      this.#executor.run(held);
      now = performance.now();
    }
    this.#buffer.started(next);
    this.#dispatching = false;
    if (next > 0) this.#pace.note(now, true);
    this.#gate.prepare(this.#buffer.ready, this.#startAhead(), now);
    if (this.#executor.size > 0 || !this.#buffer.isEmpty) this.#tick ??= setInterval(() => this.#onTick(), TICK_MS);
    this.#refill();
  }

  /** Only if a job is started: while none may be, whatever lets one start says so, and nothing turns in circles. */
  #beginSlice(now: number): void {
    this.#sliceFrom = now;
    setImmediate(() => {
      this.#sliceFrom = null;
      if (this.#buffer.ready.length > 0) this.#dispatch();
    });
  }

  #lose(leased: HeldJob): void {
    this.#executor.lose(leased);
    this.#buffer.remove(leased);
    this.#lanes.heldLeases.remove(leased);
  }

  #releaseBuffer(): void {
    const unstarted = this.#buffer.takeAll();
    this.#gate.abandon(unstarted);
    for (const leased of unstarted) this.#lanes.outcomes.store(leased, { kind: 'interrupted' });
  }

  #onTick(): void {
    const now = performance.now();
    this.#executor.checkTimeouts(now);
    this.#buffer.sortOut(this.#lanes.heldUpJobs());
    if (!this.#buffer.isEmpty) this.#dispatch();
    if (this.#executor.size === 0 && this.#buffer.isEmpty && this.#tick) {
      clearInterval(this.#tick);
      this.#tick = null;
    }
  }

  /** Sets when to look again without any news: when the next job falls due, or after the safety poll at the latest. */
  async #setAlarm(failed: boolean): Promise<void> {
    const nextMs = failed
      ? RETRY_MS
      : await this.options.claimer.nextDue(this.options.queue).then(dueDelayMs, () => RETRY_MS);
    if (this.#stopping) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lookAgain(), Math.min(nextMs, this.options.safetyPollMs ?? SAFETY_POLL_MS));
  }

  #startAhead(): number {
    return this.#sizing.startAhead(this.#executor.size, this.#lanes.outcomes.due);
  }

  /** How many jobs of the claim that is about to be made may start at once. */
  #startableAtOnce(): number {
    const [head] = this.#buffer.ready;
    return Math.max(0, this.#startAhead() - (head ? marked(head) : 0));
  }

  #signalIfQuiet(): void {
    if (this.#idle && this.#isQuiet()) this.#idle();
  }

  #quiet(): Promise<void> {
    return this.#isQuiet() ? Promise.resolve() : new Promise((resolve) => (this.#idle = resolve));
  }

  /** The pool holds nothing and expects nothing: a claim in flight may still bring jobs that must be given back. */
  #isQuiet(): boolean {
    const inHand = this.#executor.size + this.#lanes.outcomes.size;
    return inHand === 0 && this.#claiming + this.#late === 0 && !this.#lanes.marks.isMoving;
  }
}
