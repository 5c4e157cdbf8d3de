import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '../../domain/errors.js';
import type { Claimer } from './claim.js';
import { dueDelayMs } from './due-delay.js';
import type { Hub } from '../shared/hub.js';
import { separateSlots, type Slot } from './slots.js';
import type { LeasedJob } from '../../domain/records.js';
import type { LeaseRequest } from '../api.js';

/**
 * Long polls. All callers that want jobs of one queue are served by one claim at a time: a thousand waiting workers
 * cost one statement when a job arrives, not a thousand.
 *
 * A caller is: asking (in the claim that is in flight or the next one) → waiting (its queue came up short and it has
 * time left) → asking again when work is announced, a job falls due, or the safety poll comes → answered, or gone (its
 * client hung up).
 *
 * Invariants: a job claimed for a caller that is gone by the time the claim returns goes back as if it never had been
 * claimed; a polls with nobody at it is put away.
 */
const SAFETY_POLL_MS = 5_000;
const MAX_SLOTS = 1_000;
/**
 * How often, and how long apart, it is tried to put a job back whose caller is gone. After that its lease has to run
 * out.
 */
const GIVE_BACK_TRIES = 5;
const GIVE_BACK_WAIT_MS = 1_000;

interface Caller {
  readonly request: LeaseRequest;
  readonly deadline: number;
  gone: boolean;
  answer(jobs: readonly LeasedJob[]): void;
  refuse(error: Error): void;
}

export interface UndeliveredSink {
  /** Puts claimed jobs back: nobody is there to receive them. */
  undeliver(jobs: readonly LeasedJob[]): Promise<void>;
}

export class LongPolls {
  readonly #queues = new Map<string, QueuePolls>();
  readonly #underWay = new Set<Promise<void>>();
  #closed = false;

  constructor(
    private readonly claimer: Claimer,
    private readonly hub: Hub,
    private readonly sink: UndeliveredSink,
  ) {}

  /** Callers that wait at this moment. */
  get waiting(): number {
    let n = 0;
    for (const polls of this.#queues.values()) n += polls.waiting;
    return n;
  }

  lease(request: LeaseRequest, signal: AbortSignal): Promise<readonly LeasedJob[]> {
    if (this.#closed) return Promise.reject(unavailable('the service is shutting down'));
    if (signal.aborted) return Promise.resolve([]);
    return this.#polls(request.queue).serve(request, signal);
  }

  /** Answers everybody who waits, with nothing. */
  close(): void {
    this.#closed = true;
    for (const polls of this.#queues.values()) polls.close();
  }

  /** Resolves when no claim is in flight and everything that nobody was there to receive is back on its queue. */
  async drained(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #polls(queue: string): QueuePolls {
    const known = this.#queues.get(queue);
    if (known) return known;
    const polls: QueuePolls = new QueuePolls(queue, this.claimer, this.hub, {
      track: (work) => this.#track(work),
      giveBack: (jobs) => this.#giveBack(jobs),
      putAway: () => {
        if (this.#queues.get(queue) === polls) this.#queues.delete(queue);
      },
    });
    this.#queues.set(queue, polls);
    return polls;
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  async #giveBack(jobs: readonly LeasedJob[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.sink.undeliver(jobs);
      } catch {
        if (tries === GIVE_BACK_TRIES || this.#closed) return;
        await delay(GIVE_BACK_WAIT_MS, undefined, { ref: false });
      }
    }
  }
}

/** What a polls asks of the owner it stands in. */
interface PollsOwner {
  /** The owner does not close before this is done. It must not fail. */
  track(work: Promise<void>): void;
  giveBack(jobs: readonly LeasedJob[]): Promise<void>;
  putAway(): void;
}

class QueuePolls {
  #asking: Caller[] = [];
  #waiting = new Set<Caller>();
  #claiming = false;
  #timer: NodeJS.Timeout | null = null;
  #unsubscribe: () => void;

  constructor(
    private readonly queue: string,
    private readonly claimer: Claimer,
    hub: Hub,
    private readonly owner: PollsOwner,
  ) {
    this.#unsubscribe = hub.onWork(queue, () => this.#askAgain());
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  serve(request: LeaseRequest, signal: AbortSignal): Promise<readonly LeasedJob[]> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        caller.gone = true;
        this.#waiting.delete(caller);
        this.#restIfIdle();
        resolve([]);
      };
      const settled = () => signal.removeEventListener('abort', leave);
      const caller: Caller = {
        request,
        deadline: performance.now() + request.waitSecs * 1000,
        gone: false,
        answer: (jobs) => (settled(), resolve(jobs)),
        refuse: (error) => (settled(), reject(error)),
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#asking.push(caller);
      this.#pump();
    });
  }

  close(): void {
    for (const caller of this.#waiting) caller.answer([]);
    this.#waiting.clear();
    for (const caller of this.#asking) Object.assign(caller, { deadline: 0 });
    this.#restIfIdle();
  }

  #askAgain(): void {
    if (this.#waiting.size === 0) return;
    this.#asking.push(...this.#waiting);
    this.#waiting.clear();
    this.#pump();
  }

  #pump(): void {
    if (this.#claiming) return;
    this.#claiming = true;
    this.owner.track(new Promise(setImmediate).then(() => this.#run()));
  }

  async #run(): Promise<void> {
    while (this.#asking.length > 0) await this.#claimOnce(this.#takeCallers());
    this.#claiming = false;
    await this.#setAlarm();
    this.#restIfIdle();
  }

  #takeCallers(): Caller[] {
    let slots = 0;
    let n = 0;
    for (const { request } of this.#asking) {
      if (n > 0 && slots + request.maxJobs > MAX_SLOTS) break;
      slots += request.maxJobs;
      n++;
    }
    return this.#asking.splice(0, n).filter((caller) => !caller.gone);
  }

  async #claimOnce(callers: readonly Caller[]): Promise<void> {
    if (callers.length === 0) return;
    const slots = callers.flatMap(({ request }) => slotsFor(request));
    let jobs: LeasedJob[];
    let cut: boolean;
    try {
      ({ jobs, cut } = await this.claimer.claim(this.queue, separateSlots(slots)));
    } catch (error) {
      for (const caller of callers) caller.refuse(error as Error);
      return;
    }
    const orphans: LeasedJob[] = [];
    const unserved: Caller[] = [];
    for (const caller of callers) {
      const share = jobs.splice(0, caller.request.maxJobs);
      if (caller.gone) orphans.push(...share);
      else if (cut && share.length === 0) unserved.push(caller);
      else this.#answer(caller, share);
    }
    // More is due than fits into one claim: they are first in the next one.
    this.#asking.unshift(...unserved);
    if (orphans.length > 0) this.owner.track(this.owner.giveBack(orphans));
  }

  #answer(caller: Caller, share: LeasedJob[]): void {
    if (share.length > 0 || caller.deadline <= performance.now()) caller.answer(share);
    else this.#waiting.add(caller);
  }

  /**
   * The next moment at which somebody who waits must look again: a job falls due, a wait ends, or it is time to be
   * safe.
   */
  async #setAlarm(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const dueMs = await this.claimer.nextDue(this.queue).then(dueDelayMs, () => Infinity);
    if (this.#claiming || this.#waiting.size === 0) return;
    const now = performance.now();
    const endMs = Math.min(...[...this.#waiting].map((caller) => caller.deadline - now));
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#askAgain(), Math.max(1, Math.min(dueMs, endMs, SAFETY_POLL_MS)));
  }

  #restIfIdle(): void {
    if (this.#asking.length > 0 || this.#waiting.size > 0 || this.#claiming) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#unsubscribe();
    this.owner.putAway();
  }
}

function slotsFor({ maxJobs, leaseSecs }: LeaseRequest): Slot[] {
  return Array.from({ length: maxJobs }, () => ({ token: randomUUID(), leaseSecs }));
}
