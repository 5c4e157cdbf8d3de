import type { DeadLetterReason } from '@millrace/contract';
import type { PriorityNews, News } from '../../store/connection/notifications.js';

/**
 * The only way for news to travel up the layers: commits of this process and notifications from others arrive here, and
 * the waiters (long polls, the pool, event streams, schedulers) are told. Nothing here is durable; every listener also
 * polls.
 */
export interface Publisher {
  /** Whether notifications from other processes currently arrive. */
  readonly listening: boolean;
  publishWork(queue: string, priority: number, since: number | null): void;
  publishOpening(queue: string): void;
  publishEvents(): void;
}

/** A job has left `running`, or was cancelled while it waited; told after the commit, in the process that did it. */
export interface SettledNews {
  readonly id: string;
  readonly tenant: string;
  readonly outcome: 'completed' | 'failed' | 'retrying' | 'cancelled' | 'released' | 'undelivered';
  /** Null where whoever settled it did not know. */
  readonly task: string | null;
  readonly queue: string | null;
  readonly runSecs: number | null;
  /** Of a failure. */
  readonly reason: DeadLetterReason | null;
  readonly error: string | null;
}

/** Limits where somebody may be let in now, in the process that made it so. */
export interface LimitNews {
  readonly limits: readonly string[];
  /** A job with limits was put to sleep until it is due. */
  readonly slept: boolean;
  /**
   * Limits that need not be looked at in a moment any more: a create has done what there was to do when it locked them,
   * after the instant `since` of this process's clock.
   */
  readonly done?: { readonly limits: readonly string[]; readonly since: number };
  /** Limits to look at in a moment: somebody has joined an empty line, or the last of a line has left it. */
  readonly soon?: readonly string[];
}

/** Ids of jobs all of whose awaited children have ended, in the process that ended the last one. */
type ParentListener = (ids: readonly string[]) => void;
type WorkListener = () => void;
type LimitListener = (news: LimitNews) => void;
type SettledListener = (news: SettledNews) => void;
/** Null: no job has come, but claims that got nothing because of the limits of the queue may get something now. */
type AnyWorkListener = (queue: string, news: readonly PriorityNews[] | null) => void;
type EndListener = (queue: string) => void;
/** Receives the next occurrence of a schedule that was created or resumed; null: such news may have been missed. */
type CronListener = (occurrenceMs: number | null) => void;

export class Hub {
  readonly #work = new Map<string, Set<WorkListener>>();
  readonly #anyWork = new Set<AnyWorkListener>();
  readonly #events = new Set<() => void>();
  readonly #crons = new Set<CronListener>();
  readonly #settled = new Set<SettledListener>();
  readonly #failures = new Set<SettledListener>();
  readonly #ends = new Set<EndListener>();
  readonly #workflows = new Set<(id: string) => void>();
  readonly #limits = new Set<LimitListener>();
  readonly #parents = new Set<ParentListener>();
  #publisher: Publisher | null = null;

  /** Sets where this process publishes its news to the others. */
  connect(publisher: Publisher): void {
    this.#publisher = publisher;
  }

  get listening(): boolean {
    return this.#publisher?.listening ?? false;
  }

  /** This process has put jobs on a queue. `since`: their scheduled_at if it is earlier than now, else null. */
  announceWork(queue: string, priority: number, since: number | null): void {
    for (const listener of this.#anyWork) listener(queue, [{ priority, since }]);
    this.#wake(queue);
    this.#publisher?.publishWork(queue, priority, since);
  }

  /** Claims of a queue with limits, which found no room, may get through now, in every process. */
  announceOpening(queue: string): void {
    this.open(queue);
    this.#publisher?.publishOpening(queue);
  }

  /** The same in this process alone. */
  open(queue: string): void {
    for (const listener of this.#anyWork) listener(queue, null);
    this.#wake(queue);
  }

  announceEvents(): void {
    this.#emitEvents();
    this.#publisher?.publishEvents();
  }

  /** Whether anybody wants to hear of every job: where nobody does, completions are not worth a call each. */
  get hearsSettled(): boolean {
    return this.#settled.size > 0;
  }

  announceSettled(news: SettledNews): void {
    for (const listener of this.#settled) listener(news);
    if (news.outcome !== 'failed' && news.outcome !== 'retrying') return;
    for (const listener of this.#failures) listener(news);
  }

  /** Jobs of the queue have left `running`, however they did: after the commit, in the process that did it. */
  announceEnd(queue: string): void {
    for (const listener of this.#ends) listener(queue);
  }

  /** Whether anybody wants to hear of that. */
  get hearsEnds(): boolean {
    return this.#ends.size > 0;
  }

  get hearsWorkflows(): boolean {
    return this.#workflows.size > 0;
  }

  /** A step of the workflow was claimed or has ended. */
  announceWorkflow(id: string): void {
    for (const listener of this.#workflows) listener(id);
  }

  announceLimits(news: LimitNews): void {
    if (news.limits.length === 0 && !news.slept && !news.soon?.length && !news.done?.limits.length) return;
    for (const listener of this.#limits) listener(news);
  }

  announceParents(ids: readonly string[]): void {
    if (ids.length === 0) return;
    for (const listener of this.#parents) listener(ids);
  }

  hear(news: News): void {
    for (const [queue, work] of news.queues) {
      for (const listener of this.#anyWork) listener(queue, work);
      this.#wake(queue);
    }
    for (const queue of news.opened ?? []) this.open(queue);
    if (news.events) this.#emitEvents();
    if (news.crons !== null) this.#emitCrons(news.crons);
  }

  /** News may have been missed: every listener checks for itself. */
  wakeAll(): void {
    for (const queue of this.#work.keys()) this.open(queue);
    this.#emitEvents();
    this.#emitCrons(null);
  }

  onWork(queue: string, listener: WorkListener): () => void {
    let listeners = this.#work.get(queue);
    if (!listeners) this.#work.set(queue, (listeners = new Set()));
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#work.get(queue) === listeners) this.#work.delete(queue);
    };
  }

  onAnyWork(listener: AnyWorkListener): void {
    this.#anyWork.add(listener);
  }

  onEvents(listener: () => void): () => void {
    this.#events.add(listener);
    return () => this.#events.delete(listener);
  }

  onCrons(listener: CronListener): () => void {
    this.#crons.add(listener);
    return () => this.#crons.delete(listener);
  }

  /** Every job that this process settles. */
  onSettled(listener: SettledListener): () => void {
    this.#settled.add(listener);
    return () => this.#settled.delete(listener);
  }

  /** Only those that failed: for good, or to be tried again. */
  onFailures(listener: SettledListener): () => void {
    this.#failures.add(listener);
    return () => this.#failures.delete(listener);
  }

  onEnds(listener: EndListener): () => void {
    this.#ends.add(listener);
    return () => this.#ends.delete(listener);
  }

  onWorkflows(listener: (id: string) => void): () => void {
    this.#workflows.add(listener);
    return () => this.#workflows.delete(listener);
  }

  onLimits(listener: LimitListener): () => void {
    this.#limits.add(listener);
    return () => this.#limits.delete(listener);
  }

  onParents(listener: ParentListener): () => void {
    this.#parents.add(listener);
    return () => this.#parents.delete(listener);
  }

  #wake(queue: string): void {
    for (const listener of this.#work.get(queue) ?? []) listener();
  }

  #emitCrons(occurrenceMs: number | null): void {
    for (const listener of this.#crons) listener(occurrenceMs);
  }

  #emitEvents(): void {
    for (const listener of this.#events) listener();
  }
}
