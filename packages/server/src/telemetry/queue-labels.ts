/** Depth of a queue in one status, as the gauges show it. */
export interface Depth {
  readonly queue: string;
  readonly status: string;
  readonly n: number;
  readonly oldest_age: number | null;
}

/** As many queues have series of their own; a scraper keeps every series it ever saw. */
export const MAX_QUEUE_LABELS = 500;

/** No queue can be called that. To Prometheus an empty label is none at all. */
const THE_REST = '';

/**
 * Tenants name queues as they like, so they decide how many there are. The deepest keep their names; the others are
 * added up under no name, and nothing is lost but which of them it was.
 */
export function boundQueues(depths: readonly Depth[], limit = MAX_QUEUE_LABELS): readonly Depth[] {
  const totals = new Map<string, number>();
  for (const { queue, n } of depths) totals.set(queue, (totals.get(queue) ?? 0) + n);
  if (totals.size <= limit) return depths;
  const deepestFirst = [...totals].sort(([, a], [, b]) => b - a).map(([queue]) => queue);
  const named = new Set(deepestFirst.slice(0, limit));
  const rest = new Map<string, Depth>();
  for (const depth of depths) {
    if (!named.has(depth.queue)) rest.set(depth.status, together(rest.get(depth.status), depth));
  }
  return [...depths.filter(({ queue }) => named.has(queue)), ...rest.values()];
}

function together(before: Depth | undefined, { status, n, oldest_age }: Depth): Depth {
  const ages = [before?.oldest_age, oldest_age].filter((age) => typeof age === 'number');
  return {
    queue: THE_REST,
    status,
    n: (before?.n ?? 0) + n,
    oldest_age: ages.length === 0 ? null : Math.max(...ages),
  };
}
