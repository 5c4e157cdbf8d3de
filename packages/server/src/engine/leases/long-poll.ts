import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '../../domain/errors.js';
import type { Claim, Claimer } from './claim.js';
import { ClaimProbe } from './claim-probe.js';
import { IdleQueues } from './idle-queues.js';
import type { Hub } from '../shared/hub.js';
import { separateSlots, type Slot } from './slots.js';
import type { LeasedJob } from '../../domain/records.js';
import type { LeaseRequest } from '../api.js';

/**
 * Long polls. All callers that want jobs of one queue are served by one claim at a time: a thousand waiting workers
 * cost one statement when a job arrives, not a thousand. A queue that is known to be idle is not claimed from at all
 * until there is a reason to.
 *
 * A caller is: asking (in the claim that is in flight or the next one) → waiting (its queue came up short and it has
 * time left) → asking again when work is announced or a job is due → answered, or gone (its client hung up).
 *
 * Invariants: a job claimed for a caller that is gone by the time the claim returns goes back as if it had never been
 * claimed, and so does one of a database that said so too late; a queue is watched for due jobs exactly while a caller
 * waits on it; a queue on which no caller asks or waits is forgotten.
 */
const MAX_SLOTS = 1_000;
/**
 * How many times, and how far apart, we try to put back a job whose caller is gone. After that, its lease has to
 * expire.
 */
const GIVE_BACK_TRIES = 5;
const GIVE_BACK_WAIT_MS = 1_000;

const NOTHING: Claim = { jobs: [], cut: false };

/** Where jobs come from: one database, or several. */
export type ClaimSource = Pick<Claimer, 'claim' | 'heads' | 'asked' | 'isClosed'>;
export type WorkNews = Pick<Hub, 'onWork' | 'onAnyWork'>;

interface Caller {
  readonly request: LeaseRequest;
  deadline: number;
  timer: NodeJS.Timeout | undefined;
  gone: boolean;
  answer(jobs: readonly LeasedJob[]): void;
  refuse(error: Error): void;
}

export interface UndeliveredSink {
  /** Puts back claimed jobs whose callers are gone. */
  undeliver(jobs: readonly LeasedJob[]): Promise<void>;
}

export class LongPolls {
  readonly #queues = new Map<string, QueuePolls>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #idle: IdleQueues;
  readonly #firstLook: ClaimProbe;
  #closed = false;

  constructor(
    private readonly claimer: ClaimSource,
    private readonly hub: WorkNews,
    private readonly sink: UndeliveredSink,
    safetyPollMs?: number,
  ) {
    this.#idle = new IdleQueues((queues) => claimer.heads(queues), hub, safetyPollMs);
    this.#firstLook = new ClaimProbe((queues) => claimer.heads(queues));
  }

  /** Callers that are waiting at this moment. */
  get waiting(): number {
    let n = 0;
    for (const polls of this.#queues.values()) n += polls.waiting;
    return n;
  }

  lease(request: LeaseRequest, signal: AbortSignal): Promise<readonly LeasedJob[]> {
    if (this.#closed) return Promise.reject(unavailable('the service is shutting down'));
    if (signal.aborted) return Promise.resolve([]);
    this.claimer.asked(request);
    return this.#polls(request.queue).serve(request, signal);
  }

  /** Answers all waiting callers with no jobs. */
  close(): void {
    this.#closed = true;
    for (const polls of this.#queues.values()) polls.close();
  }

  /** Resolves when no claim is in flight and all jobs whose callers are gone are back on their queues. */
  async drained(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #polls(queue: string): QueuePolls {
    const known = this.#queues.get(queue);
    if (known) return known;
    const polls: QueuePolls = new QueuePolls(queue, {
      claimer: this.claimer,
      hub: this.hub,
      idle: this.#idle,
      firstLook: this.#firstLook,
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

/** What the polls of one queue need from LongPolls. */
interface PollsOwner {
  readonly claimer: ClaimSource;
  readonly hub: WorkNews;
  readonly idle: IdleQueues;
  readonly firstLook: ClaimProbe;
  /** Shutdown waits until this is done. It must not fail. */
  track(work: Promise<void>): void;
  giveBack(jobs: readonly LeasedJob[]): Promise<void>;
  putAway(): void;
}

class QueuePolls {
  #asking: Caller[] = [];
  readonly #waiting = new Set<Caller>();
  #claiming = false;
  readonly #unsubscribe: () => void;

  constructor(
    private readonly queue: string,
    private readonly owner: PollsOwner,
  ) {
    this.#unsubscribe = owner.hub.onWork(queue, () => {
      if (!owner.claimer.isClosed(queue)) this.#askAgain();
    });
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  serve(request: LeaseRequest, signal: AbortSignal): Promise<readonly LeasedJob[]> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        caller.gone = true;
        settled();
        this.#stopWaiting(caller);
        resolve([]);
      };
      const settled = () => {
        clearTimeout(caller.timer);
        signal.removeEventListener('abort', leave);
      };
      const caller: Caller = {
        request,
        deadline: performance.now() + request.waitSecs * 1000,
        timer: undefined,
        gone: false,
        answer: (jobs) => (settled(), resolve(jobs)),
        refuse: (error) => (settled(), reject(error)),
      };
      signal.addEventListener('abort', leave, { once: true });
      if (request.waitSecs > 0 && !this.#claiming && this.owner.idle.isIdle(this.queue)) return this.#wait(caller);
      this.#asking.push(caller);
      this.#pump();
    });
  }

  close(): void {
    for (const caller of this.#waiting) caller.answer([]);
    this.#waiting.clear();
    for (const caller of this.#asking) caller.deadline = 0;
    this.#restIfIdle();
  }

  readonly #askAgain = (): void => {
    if (this.#waiting.size === 0) return;
    for (const caller of this.#waiting) clearTimeout(caller.timer);
    this.#asking.push(...this.#waiting);
    this.#waiting.clear();
    this.#pump();
  };

  #pump(): void {
    if (this.#claiming) return;
    this.#claiming = true;
    this.owner.track(new Promise(setImmediate).then(() => this.#run()));
  }

  async #run(): Promise<void> {
    while (this.#asking.length > 0) await this.#claimOnce(this.#takeCallers());
    this.#claiming = false;
    if (this.#waiting.size > 0) this.owner.idle.watch(this.queue, this.#askAgain);
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
    const { claimer, firstLook } = this.owner;
    let claim: Claim | null;
    try {
      claim = await firstLook.claim(this.queue, () => claimer.claim(this.queue, separateSlots(slots)));
    } catch (error) {
      for (const caller of callers) caller.refuse(error as Error);
      return;
    }
    const { jobs, cut, later } = claim ?? NOTHING;
    if (later) this.owner.track(later.then((late) => this.owner.giveBack(late)));
    const orphans: LeasedJob[] = [];
    const unserved: Caller[] = [];
    const shares = sharesOf(jobs, callers, slots);
    for (const [index, caller] of callers.entries()) {
      const share = shares[index]!;
      if (caller.gone) orphans.push(...share);
      else if (cut && share.length === 0) unserved.push(caller);
      else if (share.length > 0 || caller.deadline <= performance.now()) caller.answer(share);
      else this.#keepWaiting(caller);
    }
    // More is due than fits into one claim: these callers come first in the next one.
    this.#asking.unshift(...unserved);
    if (orphans.length > 0) this.owner.track(this.owner.giveBack(orphans));
  }

  #wait(caller: Caller): void {
    this.#keepWaiting(caller);
    this.owner.idle.watch(this.queue, this.#askAgain);
  }

  /** The caller waits until there may be work or its time is up. */
  #keepWaiting(caller: Caller): void {
    this.#waiting.add(caller);
    caller.timer = setTimeout(() => {
      this.#stopWaiting(caller);
      caller.answer([]);
    }, caller.deadline - performance.now());
  }

  #stopWaiting(caller: Caller): void {
    this.#waiting.delete(caller);
    this.#restIfIdle();
  }

  #restIfIdle(): void {
    if (this.#waiting.size > 0) return;
    this.owner.idle.unwatch(this.queue);
    if (this.#asking.length > 0 || this.#claiming) return;
    this.#unsubscribe();
    this.owner.putAway();
  }
}

function slotsFor({ maxJobs, leaseSecs, workerId }: LeaseRequest): Slot[] {
  return Array.from({ length: maxJobs }, () => ({ token: randomUUID(), leaseSecs, workerId }));
}

/**
 * To each caller the jobs that are held in its name and for its time, in claim order. Nearly always those are the next
 * so many; but a claim that looked twice has put what it found in order, and the tokens with it.
 */
function sharesOf(jobs: readonly LeasedJob[], callers: readonly Caller[], slots: readonly Slot[]): LeasedJob[][] {
  const shares = callers.map((): LeasedJob[] => []);
  const callerOf = new Map<string, number>();
  let slot = 0;
  callers.forEach(({ request }, index) => {
    for (let n = 0; n < request.maxJobs; n++) callerOf.set(slots[slot++]!.token, index);
  });
  for (const leased of jobs) shares[callerOf.get(leased.leaseToken)!]!.push(leased);
  return shares;
}
