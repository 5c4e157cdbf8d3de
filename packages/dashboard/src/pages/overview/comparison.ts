import type { Series } from '@millrace/contract';

/** What happened in a span, and how that compares with the span before it. */
export interface Compared {
  readonly now: number;
  /** Null where there is nothing to compare with. */
  readonly before: number | null;
}

const sum = (values: readonly number[]): number => values.reduce((total, n) => total + n, 0);

/**
 * How many in the span. The span before is kept in coarser steps, which may reach beyond it at either end: it is scaled
 * to the same length.
 */
export function countsOf(
  column: 'created' | 'completed' | 'failed' | 'retried',
  now: Series,
  before?: Series,
): Compared {
  const own = sum(now.columns[column]);
  if (before === undefined) return { now: own, before: null };
  const [length, lengthBefore] = [lengthOf(now), lengthOf(before)];
  // A service that did nothing yet has no past to compare with.
  if (lengthBefore === 0 || sum(before.columns.created) + sum(before.columns.completed) === 0) {
    return { now: own, before: null };
  }
  return { now: own, before: Math.round((sum(before.columns[column]) * length) / lengthBefore) };
}

const lengthOf = ({ step_secs, columns }: Series): number => step_secs * columns.created.length;

/** The part of the ended jobs that failed; null if none has ended. */
export function failureRate(completed: Compared, failed: Compared): { now: number | null; before: number | null } {
  const rate = (good: number | null, bad: number | null): number | null =>
    good === null || bad === null || good + bad === 0 ? null : bad / (good + bad);
  return { now: rate(completed.now, failed.now), before: rate(completed.before, failed.before) };
}

/**
 * How long nearly all attempts waited: of the steps' 95th percentiles the one that 95 in 100 attempts do not exceed, a
 * step counting for as many as ended in it. Null if nothing began.
 */
export function waitOf({ columns }: Series): number | null {
  const steps = columns.wait_p95
    .map((wait, index) => ({
      wait,
      weight: 1 + (columns.completed[index] ?? 0) + (columns.failed[index] ?? 0) + (columns.retried[index] ?? 0),
    }))
    .filter((step): step is { wait: number; weight: number } => step.wait !== null)
    .sort((one, other) => one.wait - other.wait);
  const enough = 0.95 * sum(steps.map(({ weight }) => weight));
  let reached = 0;
  for (const { wait, weight } of steps) {
    reached += weight;
    if (reached >= enough) return wait;
  }
  return null;
}

/** In words: "12% more", "twice as many" would be longer than the figure; "same" where nothing moved. */
export function changeWords(now: number, before: number): string {
  if (now === before) return 'same';
  if (before === 0) return 'new';
  const part = (now - before) / before;
  const percent = Math.round(Math.abs(part) * 100);
  if (percent === 0) return 'same';
  return percent >= 1000 ? `${Math.round(now / before)}×` : `${percent}%`;
}
