import type { BucketRange } from '../../domain/cells.js';
import { appliedVersion } from '../migrations/migrate.js';
import { rowsOf } from '../connection/one-connection.js';
import { onDatabase, readCell, sql, type CellRow } from './cell-row.js';

/** A database as an operator wants to see it. */
export interface CellStatus {
  readonly schema: number;
  /** Null: it has no schema yet. */
  readonly range: BucketRange | null;
  readonly state: CellRow['state'];
  readonly pruned: boolean;
  readonly counts: CellCounts | null;
}

/** COUNTED stands for that many or more. */
export interface CellCounts {
  readonly tenants: number;
  readonly waiting: number;
  readonly running: number;
}

export const CELL_COUNTED = 10_000;
const STATEMENT_MS = 5_000;

export async function cellStatus(url: string): Promise<CellStatus> {
  return onDatabase(url, async (client) => {
    await client.query(`SET statement_timeout = ${STATEMENT_MS}`);
    const { version: schema } = await appliedVersion(client);
    const cell = await readCell(client);
    if (cell === null) return { schema, range: null, state: 'open', pruned: true, counts: null };
    const [counts] = await rowsOf<CellCounts>(client, sql.cell_counts({ most: CELL_COUNTED }));
    return { schema, range: cell.range, state: cell.state, pruned: cell.pruned, counts: counts ?? null };
  });
}
