/** The depth of a queue in one status, as the gauges show it. */
export interface Depth {
  readonly queue: string;
  readonly status: string;
  readonly n: number;
  readonly oldest_age: number | null;
}

/** How many queues have their own series: a scraper keeps every series it has ever seen. */
export const MAX_QUEUE_LABELS = 500;

/** No queue can have this name. To Prometheus an empty label is the same as none. */
const OTHERS = '';

/**
 * Tenants name queues as they like, so they decide how many there are. The deepest queues keep their names; the others
 * are added up under an empty name, so that totals stay right.
 */
export function boundQueues(depths: readonly Depth[], limit = MAX_QUEUE_LABELS): readonly Depth[] {
  const totals = new Map<string, number>();
  for (const { queue, n } of depths) totals.set(queue, (totals.get(queue) ?? 0) + n);
  if (totals.size <= limit) return depths;
  const deepestFirst = [...totals].sort(([, a], [, b]) => b - a).map(([queue]) => queue);
  const named = new Set(deepestFirst.slice(0, limit));
  const rest = new Map<string, Depth>();
  for (const depth of depths) {
    if (!named.has(depth.queue)) rest.set(depth.status, sum(rest.get(depth.status), depth));
  }
  return [...depths.filter(({ queue }) => named.has(queue)), ...rest.values()];
}

function sum(before: Depth | undefined, { status, n, oldest_age }: Depth): Depth {
  const ages = [before?.oldest_age, oldest_age].filter((age) => typeof age === 'number');
  return {
    queue: OTHERS,
    status,
    n: (before?.n ?? 0) + n,
    oldest_age: ages.length === 0 ? null : Math.max(...ages),
  };
}
