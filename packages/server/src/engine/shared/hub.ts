import type { PriorityNews, News } from '../../store/notifications.js';

/**
 * The only way for news to travel up the layers: commits of this process and notifications from others arrive here, and
 * the waiters (long polls, the pool, event streams, schedulers) are told. Nothing here is durable; every listener also
 * polls.
 */
export interface Outlet {
  /** Whether notifications from other processes currently arrive. */
  readonly listening: boolean;
  publishWork(queue: string, priority: number, since: number | null): void;
  publishEvents(): void;
}

type WorkListener = () => void;
type AnyWorkListener = (queue: string, news: readonly PriorityNews[]) => void;
/** Receives the next occurrence of a schedule that was created or resumed; null: such news may have been missed. */
type CronListener = (occurrenceMs: number | null) => void;

export class Hub {
  readonly #work = new Map<string, Set<WorkListener>>();
  readonly #anyWork = new Set<AnyWorkListener>();
  readonly #events = new Set<() => void>();
  readonly #crons = new Set<CronListener>();
  #outlet: Outlet | null = null;

  /** Sets where this process publishes its news to the others. */
  connect(outlet: Outlet): void {
    this.#outlet = outlet;
  }

  get listening(): boolean {
    return this.#outlet?.listening ?? false;
  }

  /** This process has put jobs on a queue. `since`: their scheduled_at if it is earlier than now, else null. */
  announceWork(queue: string, priority: number, since: number | null): void {
    for (const listener of this.#anyWork) listener(queue, [{ priority, since }]);
    this.#wake(queue);
    this.#outlet?.publishWork(queue, priority, since);
  }

  announceEvents(): void {
    this.#emitEvents();
    this.#outlet?.publishEvents();
  }

  hear(news: News): void {
    for (const [queue, work] of news.queues) {
      for (const listener of this.#anyWork) listener(queue, work);
      this.#wake(queue);
    }
    if (news.events) this.#emitEvents();
    if (news.crons !== null) this.#emitCrons(news.crons);
  }

  /** News may have been missed: every listener checks for itself. */
  wakeAll(): void {
    for (const queue of this.#work.keys()) this.#wake(queue);
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
