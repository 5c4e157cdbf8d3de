import { int4Array, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { MarkMove } from './claim-mark.js';

const sql = loadStatements('leases/bundles.sql');

export async function moveMarks(execute: Execute, moves: readonly MarkMove[]): Promise<void> {
  await execute(sql.move_marks(markColumns(moves)));
}

interface MarkColumns {
  readonly mark_tokens: Buffer;
  readonly mark_reaches: Buffer;
  readonly dropped_marks: Buffer;
}

/** For a statement that moves marks, and removes those that have reached the end of their claim. */
export function markColumns(moves: readonly MarkMove[]): MarkColumns {
  const moved = moves.filter(({ mark, reach }) => reach < mark.size);
  const removed = moves.filter(({ mark, reach }) => reach >= mark.size);
  return {
    mark_tokens: uuidArray(moved.map(({ mark }) => mark.token)),
    mark_reaches: int4Array(moved.map(({ reach }) => reach)),
    dropped_marks: uuidArray(removed.map(({ mark }) => mark.token)),
  };
}
