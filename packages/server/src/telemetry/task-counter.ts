import type { Metric, MetricValue, Registry } from 'prom-client';

/** What can happen to a job, as its queue and task count it. */
export const TASK_EVENTS = ['created', 'completed', 'retried', 'failed', 'cancelled'] as const;
export type TaskEvent = (typeof TASK_EVENTS)[number];

/** How many pairs of queue and task have their own series: a scraper keeps every series it has ever seen. */
export const MAX_TASK_LABELS = 500;

/** No queue and no task can have this name. To Prometheus an empty label is the same as none. */
const OTHERS = '';

type Counts = Record<TaskEvent, number>;

interface Pair {
  readonly queue: string;
  readonly task: string;
  readonly counts: Counts;
}

/**
 * Counts events by queue and task. Tenants name both as they like, so they decide how many there are: the first pairs
 * that this process meets keep their names; the others are added up under empty names, so that totals stay right. It
 * counts in plain numbers, because it is asked to for every job: the library's own counter takes about a microsecond.
 */
export class TaskCounter {
  readonly type = 'counter';
  readonly #queues = new Map<string, Map<string, Pair>>();
  #size = 0;
  #others: Pair | null = null;
  #last: Pair | null = null;

  constructor(
    readonly name: string,
    readonly help: string,
    registry: Registry,
    private readonly limit = MAX_TASK_LABELS,
  ) {
    registry.registerMetric(this as unknown as Metric);
  }

  inc(queue: string, task: string, event: TaskEvent): void {
    const last = this.#last;
    if (last?.queue === queue && last.task === task) last.counts[event]++;
    else this.#find(queue, task).counts[event]++;
  }

  /** Called by the registry at every scrape. A pair has every event; those that did not happen are zeros. */
  get(): Promise<object> {
    const pairs = [...this.#queues.values()].flatMap((tasks) => [...tasks.values()]);
    const values = [...pairs, ...(this.#others === null ? [] : [this.#others])].flatMap(({ queue, task, counts }) =>
      TASK_EVENTS.map((event): MetricValue<string> => ({ labels: { queue, task, event }, value: counts[event] })),
    );
    return Promise.resolve({ name: this.name, help: this.help, type: this.type, aggregator: 'sum', values });
  }

  reset(): void {
    this.#queues.clear();
    this.#size = 0;
    this.#others = this.#last = null;
  }

  #find(queue: string, task: string): Pair {
    let tasks = this.#queues.get(queue);
    const known = tasks?.get(task);
    if (known) return (this.#last = known);
    if (this.#size >= this.limit) return (this.#others ??= newPair(OTHERS, OTHERS));
    this.#size++;
    if (!tasks) this.#queues.set(queue, (tasks = new Map<string, Pair>()));
    const pair = newPair(queue, task);
    tasks.set(task, pair);
    return (this.#last = pair);
  }
}

const newPair = (queue: string, task: string): Pair => ({
  queue,
  task,
  counts: { created: 0, completed: 0, retried: 0, failed: 0, cancelled: 0 },
});
