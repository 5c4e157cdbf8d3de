import { int4Array, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { MarkMove } from './claim-mark.js';

const sql = loadStatements('lease.sql', ['move_marks']);

export async function moveMarks(execute: Execute, moves: readonly MarkMove[]): Promise<void> {
  await execute(sql.move_marks, markColumns(moves));
}

/** The parameters of a statement that moves marks, and removes those that have reached the end of their claim. */
export function markColumns(moves: readonly MarkMove[]): Buffer[] {
  const moved = moves.filter(({ mark, reach }) => reach < mark.size);
  const removed = moves.filter(({ mark, reach }) => reach >= mark.size);
  return [
    uuidArray(moved.map(({ mark }) => mark.token)),
    int4Array(moved.map(({ reach }) => reach)),
    uuidArray(removed.map(({ mark }) => mark.token)),
  ];
}
