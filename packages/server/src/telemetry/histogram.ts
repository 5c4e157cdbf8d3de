import type { Metric, MetricValue, Registry } from 'prom-client';

/**
 * A histogram for hot loops. The library's own one builds a label object and a string key on every observation, which
 * takes about a microsecond. Here the labels are resolved once, into a series that is kept, and an observation is a few
 * additions.
 */
export interface HistogramSeries {
  observe(value: number): void;
}

export interface HistogramOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
  readonly labels?: readonly L[];
  readonly registry: Registry;
}

export class Histogram<L extends string = never> {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly #buckets: readonly number[];
  readonly #labels: readonly L[];
  readonly #series = new Map<string, BucketSeries>();

  constructor({ name, help, buckets, labels = [], registry }: HistogramOptions<L>) {
    this.name = name;
    this.help = help;
    this.#buckets = buckets;
    this.#labels = labels;
    registry.registerMetric(this as unknown as Metric);
  }

  /** The series for these label values, given in the order of the labels. Hot code keeps it. */
  series(...values: readonly string[]): HistogramSeries {
    const key = values.join('\0');
    let series = this.#series.get(key);
    if (series === undefined) {
      const labels = Object.fromEntries(this.#labels.map((label, i) => [label, values[i] ?? '']));
      this.#series.set(key, (series = new BucketSeries(labels, this.#buckets)));
    }
    return series;
  }

  /** Called by the registry at every scrape. */
  get(): Promise<object> {
    const values = [...this.#series.values()].flatMap((series) => series.values(this.name));
    return Promise.resolve({ name: this.name, help: this.help, type: this.type, aggregator: 'sum', values });
  }

  reset(): void {
    this.#series.clear();
  }
}

class BucketSeries implements HistogramSeries {
  readonly #labels: Readonly<Record<string, string>>;
  readonly #bounds: readonly number[];
  /** One counter per bucket, and a last one for values above all of them. */
  readonly #counts: number[];
  #sum = 0;

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.#labels = labels;
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? Infinity)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  values(name: string): MetricValue<string>[] {
    const values: MetricValue<string>[] = [];
    let count = 0;
    this.#counts.forEach((inBucket, i) => {
      count += inBucket;
      const le = this.#bounds[i] ?? '+Inf';
      values.push(sample(`${name}_bucket`, { le: String(le), ...this.#labels }, count));
    });
    values.push(sample(`${name}_sum`, this.#labels, this.#sum), sample(`${name}_count`, this.#labels, count));
    return values;
  }
}

/** The registry reads `metricName`, which the library's types do not declare. */
function sample(metricName: string, labels: Readonly<Record<string, string>>, value: number): MetricValue<string> {
  const named = { metricName, labels, value };
  return named;
}
