import type pg from 'pg';
import type { BucketRange } from '../../domain/cells.js';
import { onConnection, rowsOf } from '../connection/one-connection.js';
import { loadStatements } from '../sql.js';

/** What a database says of itself: which tenants it holds, and whether it is handing some of them over. */
export const sql = loadStatements('store/handover.sql');

export interface CellRow {
  readonly range: BucketRange;
  readonly state: 'open' | 'closed' | 'gone';
  readonly handover: string | null;
  /** Null: nothing stays. */
  readonly keeps: BucketRange | null;
  readonly gives: BucketRange | null;
  readonly pruned: boolean;
  /** It is a standby. */
  readonly follows: boolean;
  readonly instance: string;
}

interface Columns extends Omit<CellRow, 'range' | 'keeps' | 'gives'> {
  readonly first_bucket: number;
  readonly last_bucket: number;
  readonly keeps: string | null;
  readonly gives: string | null;
}

const NAME = 'millrace-cells';

/** A connection for a command, closed when `work` is done. */
export const onDatabase = <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  onConnection({ url, name: NAME }, work);

/** Null: it is no database of the service. */
export async function readCell(client: pg.Client): Promise<CellRow | null> {
  const known = await client.query<{ known: boolean }>(`SELECT to_regclass('millrace.cell') IS NOT NULL AS known`);
  if (!known.rows[0]?.known) return null;
  const [row] = await rowsOf<Columns>(client, sql.cell_row());
  if (row === undefined) return null;
  const { first_bucket: first, last_bucket: last, keeps, gives, ...rest } = row;
  return { ...rest, range: { first, last }, keeps: rangeIn(keeps), gives: rangeIn(gives) };
}

/** As PostgreSQL writes it: without its upper end. */
export const rangeLiteral = ({ first, last }: BucketRange): string => `[${first},${last + 1})`;

function rangeIn(text: string | null): BucketRange | null {
  const [, first, end] = /^\[(\d+),(\d+)\)$/.exec(text ?? '') ?? [];
  return first === undefined || end === undefined ? null : { first: Number(first), last: Number(end) - 1 };
}
