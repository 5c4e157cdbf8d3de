import type { TenantRead } from './page-statements.js';
import type { Parameters } from './parameters.js';

/**
 * One scan of a search (see engine/shared/search.ts): walks so many rows in the order of their list, along an index,
 * and says which of them match, how many they were, and where the walk ended.
 */
export interface Scan<At = string> {
  readonly ascending: boolean;
  readonly after: At | null;
  /** How many rows to walk. */
  readonly rows: number;
  /** Of those that match: how many to leave out, and how many to return. */
  readonly offset: number;
  readonly limit: number;
}

/** One row per match, or one without a match; what is said of the walk is the same in all of them. */
export interface ScanRow {
  readonly id: string | null;
  readonly created_at?: string | null;
  readonly walked: number;
  /** How many matched, those left out included. */
  readonly hits: number;
  readonly last_id: string | null;
  readonly last_created_at?: string | null;
}

/** Rows that are walked: those that an index serves are in `where`, the others are not even looked at by it. */
export interface ScannedRows {
  readonly from: string;
  readonly where: string;
  /** What else a row has to fulfil by itself, whatever is asked for. */
  readonly fits?: string;
}

/** A walk whose rows may tell their queue by themselves. */
export interface ScanSource extends ScannedRows {
  readonly queue?: string;
}

interface ScanParts {
  readonly name: string;
  readonly tenant: string;
  /** Merged, if they are several. Each row has the columns of the order. */
  readonly walks: readonly ScanSource[];
  /** Whether a row matches: an expression over `w`, and over its queue where that is known (null where it is not). */
  readonly hit: (queue: string | null) => string;
  readonly parameters: Parameters;
  /** What orders the list. */
  readonly order: readonly ('created_at' | 'id')[];
}

export function scanStatement<At>(
  { name, tenant, walks, hit, parameters, order }: ScanParts,
  { ascending, rows, offset, limit }: Scan<At>,
): TenantRead {
  const inOrder = (table: string, forward: boolean): string =>
    `ORDER BY ${order.map((column) => `${table}.${column} ${forward === ascending ? 'ASC' : 'DESC'}`).join(', ')}`;
  const columns = (table: string): string => order.map((column) => `${table}.${column}`).join(', ');
  const limited = `${inOrder('w', true)} LIMIT ${parameters.add(rows)}`;
  const text = `
    WITH walked AS MATERIALIZED (${walkOf(walks, hit, columns('w'), limited)})
    SELECT ${columns('hit')}, n.walked, n.hits, ${order.map((column) => `last.${column} AS last_${column}`).join(', ')}
    FROM (SELECT count(*)::int AS walked, (count(*) FILTER (WHERE w.hit))::int AS hits FROM walked w) AS n
    LEFT JOIN (SELECT ${columns('w')} FROM walked w ${inOrder('w', false)} LIMIT 1) AS last ON true
    LEFT JOIN (
      SELECT ${columns('w')} FROM walked w WHERE w.hit
      ${inOrder('w', true)} OFFSET ${parameters.add(offset)} LIMIT ${parameters.add(limit)}
    ) AS hit ON true
    ${inOrder('hit', true)}`;
  return { tenant, statement: parameters.of(name, text) };
}

/** Of one walk the rows themselves tell; of several, each goes as far as all of them together may. */
function walkOf(walks: readonly ScanSource[], hit: ScanParts['hit'], columns: string, limited: string): string {
  const [only, ...others] = walks;
  if (only !== undefined && others.length === 0) {
    const { from, where, fits = 'true', queue = null } = only;
    return `SELECT ${columns}, ${fits} AND ${hit(queue)} AS hit FROM ${from} WHERE ${where} ${limited}`;
  }
  const each = walks.map(
    ({ from, where, fits = 'true', queue = 'NULL::text' }) =>
      `(SELECT ${columns}, ${fits} AS fits, ${queue} AS queue FROM ${from} WHERE ${where} ${limited})`,
  );
  return `SELECT ${columns}, w.fits AND ${hit('w.queue')} AS hit FROM (${each.join(' UNION ALL ')}) AS w ${limited}`;
}
