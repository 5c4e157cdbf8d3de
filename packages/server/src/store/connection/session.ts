/**
 * The settings that the statements rely on, and the two ways they reach PostgreSQL.
 *
 * On a connection of our own they go into its startup packet and apply for as long as it lives. A pooler in transaction
 * mode gives us another server connection for every transaction, so there they precede each statement and apply to its
 * transaction only (docs/adr/0011-transaction-pooler.md).
 */
export type SessionSettings = readonly (readonly [name: string, value: string])[];

/**
 * How long a statement may take. PostgreSQL cancels it after the timeout, which leaves the connection usable. The
 * deadline on our side comes later: a server that misses it has not answered at all, so we drop the connection.
 */
export interface Deadlines {
  readonly connectMs: number;
  /** For a turn to read. */
  readonly turnMs: number;
  readonly hotTimeoutMs: number;
  readonly hotMs: number;
  readonly readTimeoutMs: number;
  readonly readMs: number;
}

export const DEADLINES: Deadlines = {
  connectMs: 5_000,
  turnMs: 5_000,
  hotTimeoutMs: 8_000,
  hotMs: 10_000,
  readTimeoutMs: 18_000,
  readMs: 20_000,
};

export const COMMON_SETTINGS: SessionSettings = [
  ['TimeZone', 'UTC'],
  ['DateStyle', 'ISO'],
  ['jit', 'off'],
  ['idle_in_transaction_session_timeout', '30000'],
  ['lock_timeout', '0'],
  ['standard_conforming_strings', 'on'],
];

export const HOT_SETTINGS: SessionSettings = [
  ...COMMON_SETTINGS,
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_nestloop', 'off'],
  ['enable_mergejoin', 'off'],
  ['enable_bitmapscan', 'off'],
  ['max_parallel_workers_per_gather', '0'],
];

export const READ_SETTINGS: SessionSettings = [
  ...COMMON_SETTINGS,
  ['max_parallel_workers_per_gather', '0'],
  ['enable_hashjoin', 'off'],
];

/** For a single statement on a hot-pool connection that must be planned for the current contents of the tables. */
export const PLANNED_SETTINGS: SessionSettings = [
  ...COMMON_SETTINGS,
  ['plan_cache_mode', 'auto'],
  ['enable_seqscan', 'on'],
  ['enable_nestloop', 'on'],
  ['enable_mergejoin', 'on'],
  ['enable_bitmapscan', 'on'],
  ['max_parallel_workers_per_gather', '0'],
];

/**
 * For a single statement on a connection for reads that looks at a bounded number of rows through indexes, whatever the
 * tables hold: one plan serves everybody, and it is made once. Reading and planning so long a text takes longer than
 * running it.
 */
export const BOUNDED_SETTINGS: SessionSettings = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_bitmapscan', 'off'],
];

export const within = (timeoutMs: number, settings: SessionSettings): SessionSettings => [
  ...settings,
  ['statement_timeout', String(timeoutMs)],
];

const ISOLATION = 'read committed';

/**
 * For a connection of our own: puts the settings into its `options` parameter. The driver would let `options` in the
 * URL replace ours altogether, time zone and plans included. So we take the operator's options out of the URL and put
 * them first; ours, which the statements rely on, come last and win.
 */
export function withSettings(url: string, settings: SessionSettings): { connectionString: string; options: string } {
  const ours = [...settings, ['default_transaction_isolation', ISOLATION] as const].map(
    ([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`,
  );
  const start = url.indexOf('?');
  if (start === -1) return { connectionString: url, options: ours.join(' ') };
  const parameters = url.slice(start + 1).split('&');
  const isOptions = (parameter: string): boolean => parameter.startsWith('options=');
  const theirs = parameters
    .filter(isOptions)
    .map((parameter) => decodeURIComponent(parameter.slice('options='.length)));
  const others = parameters.filter((parameter) => !isOptions(parameter));
  const query = others.length === 0 ? '' : `?${others.join('&')}`;
  return { connectionString: url.slice(0, start) + query, options: [...theirs, ...ours].join(' ') };
}

/**
 * For one transaction: a statement that applies the settings until the transaction ends, and returns no row. The
 * isolation level of a transaction under way cannot be changed any more, only confirmed. If the database defaults to
 * another level, this statement fails and so does everything after it, rather than run under an isolation level that
 * the statements were not written for.
 */
export function settingStatement(settings: SessionSettings): string {
  const all = [['transaction_isolation', ISOLATION] as const, ...settings];
  return `SELECT WHERE concat(${all.map(([name, value]) => `set_config('${name}', '${value}', true)`).join(', ')}) = ''`;
}

/** The same for a transaction of several statements, which can choose its isolation. */
export const beginWith = (settings: SessionSettings): string =>
  `BEGIN ISOLATION LEVEL ${ISOLATION.toUpperCase()}; ${settingStatement(settings)}`;
