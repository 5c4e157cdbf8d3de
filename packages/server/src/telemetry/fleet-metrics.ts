import {
  AggregatorRegistry,
  Counter,
  Gauge,
  Registry,
  type MetricObjectWithValues,
  type MetricValue,
} from 'prom-client';
import type { MetricsPage } from './metrics-server.js';

/** What one process counts, as data that can travel between processes. */
export type Snapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

/** One of the processes behind the page. */
export interface FleetMember {
  readonly id: number;
  /** Null: it did not answer in time. */
  snapshot(options: { readonly withDatabase: boolean }): Promise<Snapshot | null>;
}

/** Tenants name queues and tasks. Of processes that have ended, so many samples per metric keep their own labels. */
const MAX_RETIRED_SAMPLES = 5_000;

/**
 * The metrics page of several processes. Counters and histograms are added up; each gauge says for itself whether it
 * is a sum, a maximum or the same everywhere.
 *
 * Invariant: no counter on the page ever goes down, because a scraper would take that for a restart of them all. So
 * what a process had counted when it was last asked still counts after it has ended, or while it does not answer.
 */
export class FleetMetrics implements MetricsPage {
  readonly #own = new Registry();
  readonly #latest = new Map<number, Snapshot>();
  #retired: Snapshot = [];
  #page: Promise<string> | null = null;

  readonly restarts = new Counter({
    name: 'millrace_process_restarts_total',
    help: 'Processes that ended unexpectedly and were started again.',
    registers: [this.#own],
  });
  readonly #running = new Gauge({
    name: 'millrace_processes',
    help: 'Processes that run behind this page.',
    registers: [this.#own],
  });

  constructor(private readonly members: () => readonly FleetMember[]) {}

  get contentType(): string {
    return this.#own.contentType;
  }

  /** Overlapping scrapes share one round of questions. */
  text(): Promise<string> {
    this.#page ??= this.#gather().finally(() => (this.#page = null));
    return this.#page;
  }

  /** Keeps what a process that has ended had counted. */
  retire(id: number): void {
    const latest = this.#latest.get(id);
    this.#latest.delete(id);
    if (latest === undefined) return;
    const counted = latest.filter(({ type }) => isCounted(type));
    this.#retired = addUp([this.#retired, counted]).map(bounded);
  }

  async #gather(): Promise<string> {
    const members = this.members();
    this.#running.set(members.length);
    const asked = members.map(async (member, index) => {
      const snapshot = await member.snapshot({ withDatabase: index === 0 });
      if (snapshot !== null) this.#latest.set(member.id, snapshot);
    });
    await Promise.all(asked);
    // One that ended meanwhile has been retired, and its answer came too late to be kept.
    const alive = new Set(this.members().map(({ id }) => id));
    for (const id of this.#latest.keys()) if (!alive.has(id)) this.#latest.delete(id);
    const own = await this.#own.getMetricsAsJSON();
    return registryOf([own, ...this.#latest.values(), this.#retired]).metrics();
  }
}

/** The library types `type` as a number and writes words. */
const isCounted = (type: unknown): boolean => type === 'counter' || type === 'histogram';

const registryOf = (snapshots: readonly Snapshot[]): Registry =>
  // The library groups the metrics of all by name; its types call the argument an array of objects.
  AggregatorRegistry.aggregate(snapshots as unknown as object[]);

function addUp(snapshots: readonly Snapshot[]): Snapshot {
  return registryOf(snapshots).getMetricsAsArray() as unknown as Snapshot;
}

/** Beyond the bound, samples that differ only in `queue` and `task` are added up without these names. */
function bounded(metric: Snapshot[number]): Snapshot[number] {
  if (metric.values.length <= MAX_RETIRED_SAMPLES) return metric;
  const kept = metric.values.slice(0, MAX_RETIRED_SAMPLES);
  const unnamed = metric.values.slice(MAX_RETIRED_SAMPLES).map(({ labels, ...value }) => ({
    ...value,
    labels: { ...labels, ...('queue' in labels && { queue: '' }), ...('task' in labels && { task: '' }) },
  }));
  const [folded] = addUp([[{ ...metric, values: [...kept, ...unnamed] }]]);
  return folded ?? metric;
}
