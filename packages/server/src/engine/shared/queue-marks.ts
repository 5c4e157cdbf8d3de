import type { QueueDepth } from '@millrace/contract';
import { textArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';

/** As `millrace.queue_settings` has them. */
export const settingsIn = (text: string | null): QueueDepth['settings'] =>
  text === null ? null : (JSON.parse(text) as QueueDepth['settings']);

const sql = loadStatements('shared/presence.sql');

/** What is known of a queue besides how much it holds. */
interface QueueMarks {
  readonly queue: string;
  readonly paused_at: string | null;
  readonly paused_reason: string | null;
  readonly paused_by: string | null;
  readonly last_lease_at: string | null;
  readonly settings: string | null;
  readonly now: string;
}

/** Counts may be some seconds old; whether a queue is paused, and asked for, is as it is now. */
export async function markedNow<Row extends QueueMarks>(
  db: Database,
  tenant: string,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const statement = sql.queue_marks({ queues: textArray(rows.map(({ queue }) => queue)) });
  const found = await db.read<QueueMarks>({ tenant, statement });
  const marks = new Map(found.map((row) => [row.queue, row]));
  return rows.map((row) => ({ ...row, ...marks.get(row.queue) }));
}
