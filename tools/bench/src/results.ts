import { median } from '@millrace/tools-shared';

/**
 * What was measured: one value of a metric per round. Values of the same round belong together, and so do their ratios.
 */
export interface Measured {
  readonly values: readonly number[];
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export class Results {
  readonly #values = new Map<string, number[]>();
  readonly #curves = new Map<string, (readonly number[])[]>();
  readonly notes: string[] = [];

  record(metric: string, value: number): void {
    this.#values.set(metric, [...(this.#values.get(metric) ?? []), value]);
  }

  /** How a value changed during one measurement, for the plots. */
  curve(metric: string, values: readonly number[]): void {
    this.#curves.set(metric, [...(this.#curves.get(metric) ?? []), values]);
  }

  note(text: string): void {
    if (!this.notes.includes(text)) this.notes.push(text);
  }

  of(metric: string): Measured | null {
    const values = this.#values.get(metric);
    return values ? summary(values) : null;
  }

  /** The median over the rounds, point by point. */
  curveOf(metric: string): readonly number[] | null {
    const curves = this.#curves.get(metric);
    const [first] = curves ?? [];
    return first?.map((_, index) => median((curves ?? []).map((curve) => curve[index] ?? NaN))) ?? null;
  }

  /** Round by round, since the machine may have been slower in one round than in another. */
  combine(metrics: readonly string[], formula: (...values: number[]) => number): Measured | null {
    const series = metrics.map((metric) => this.#values.get(metric));
    if (series.some((values) => values === undefined)) return null;
    const rounds = Math.min(...series.map((values) => values?.length ?? 0));
    const at = (round: number): number => formula(...series.map((values) => values?.[round] ?? NaN));
    return summary(Array.from({ length: rounds }, (_, round) => at(round)));
  }

  toJSON(): unknown {
    const metrics = [...this.#values].map(([name, values]) => [name, summary(values)]);
    return {
      metrics: Object.fromEntries(metrics) as unknown,
      curves: Object.fromEntries(this.#curves) as unknown,
      notes: this.notes,
    };
  }
}

const summary = (values: readonly number[]): Measured => ({
  values,
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
});
