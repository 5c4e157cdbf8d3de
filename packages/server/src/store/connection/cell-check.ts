import { isSameRange, rangeText, type BucketRange } from '../../domain/cells.js';

/** Whether a database serves the tenants that it is taken for. */
export interface RangeRow {
  readonly first_bucket: number;
  readonly last_bucket: number;
  readonly state: 'open' | 'closed' | 'gone';
}

export const RANGE = 'SELECT first_bucket, last_bucket, state FROM millrace.cell';

/** Counts as an outage: it may be opened again, or listed as what it is. */
export class WrongCell extends Error {
  override readonly name = 'WrongCell';
  readonly code = '55000';
}

/** Null: it does. */
export function wrongCell(found: RangeRow | undefined, expected: BucketRange): WrongCell | null {
  if (found === undefined) return new WrongCell('the database does not say which tenants it holds');
  const range = { first: found.first_bucket, last: found.last_bucket };
  if (found.state === 'gone') return new WrongCell('the database has handed its tenants over to another one');
  if (!isSameRange(range, expected))
    return new WrongCell(
      `the database holds the buckets ${rangeText(range)}, and is taken for ${rangeText(expected)}: is the list old?`,
    );
  return found.state === 'open' ? null : new WrongCell('the database is closed: its tenants are being handed over');
}
