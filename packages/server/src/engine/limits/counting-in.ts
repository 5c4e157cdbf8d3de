import type { Execute } from '../../store/connection/database.js';
import { listIn } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { FIRST_ID } from './unique.js';

/** Counts in what settlements gave back without touching the limits, so that the limits say what runs. */
const sql = loadStatements('limits/admit.sql');

const MAX_NOTES = 1_000;
/** A settlement ends hundreds of jobs. */
const MAX_RETURNS = 200;
/** How many times that many are counted in at once. */
const MAX_TIMES = 20;

/** Where nobody waits it is not urgent, and creates that find a limit held have their jobs join its line. */
export type Where = 'where somebody waits' | 'everywhere';

interface CountedRow {
  readonly looks: string | null;
  readonly last: string | null;
}

/** `look`: is told of limits that have room now, and of which somebody waits. */
export async function countIn(run: Execute, where: Where, look: (limits: readonly string[]) => void): Promise<void> {
  await gatherReturns(run);
  const all = where === 'everywhere';
  let after: string | null = FIRST_ID;
  for (let n = 0; n < MAX_TIMES && after !== null; n++) {
    const [row]: CountedRow[] = await run<CountedRow>(sql.count_in({ after, max_notes: MAX_NOTES, all }));
    look(listIn<string>(row?.looks ?? null));
    after = row?.last ?? null;
  }
}

/** What was returned where there is ample room is counted in like quiet notes. */
async function gatherReturns(run: Execute): Promise<void> {
  for (let n = 0, taken = MAX_RETURNS; n < MAX_TIMES && taken === MAX_RETURNS; n++) {
    const [row] = await run<{ taken: number }>(sql.gather_returns({ max_returns: MAX_RETURNS }));
    taken = row?.taken ?? 0;
  }
}
