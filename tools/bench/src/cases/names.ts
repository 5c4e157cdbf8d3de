/** What `--only` takes, in the order in which the cases run. */
export const CASE_NAMES = [
  'throughput',
  'single',
  'processes',
  'remote',
  'latency',
  'outbox',
  'workflows',
  'durable',
  'limits',
  'cells',
  'events',
  'wal',
  'idle',
  'snapshot',
  'history',
  'insight',
  'growth',
] as const;

export type CaseName = (typeof CASE_NAMES)[number];
