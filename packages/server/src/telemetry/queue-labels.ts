/** The depth of a queue in one status, as the gauges show it. */
export interface Depth {
  /** Empty for all queues without a name of their own: no queue can be called so, and Prometheus takes it as none. */
  readonly queue: string;
  readonly status: string;
  readonly n: number;
  readonly oldest_age: number | null;
}

/**
 * How many queues have their own series: a scraper keeps every series it has ever seen. Tenants name queues as they
 * like, so they decide how many there are. The deepest keep their names; the others are added up, so that totals stay
 * right.
 */
export const MAX_QUEUE_LABELS = 500;
