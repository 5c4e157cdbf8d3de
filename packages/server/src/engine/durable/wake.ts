import type { JsonText } from '../../domain/records.js';
import type { Execute } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';

/** Ending the wait of a job, in a transaction of the caller, and telling whoever may claim it after the commit. */
const sql = loadStatements('durable/waits.sql');

export interface WokenRow {
  /** False: the job has moved since it was looked at, or has ended. */
  readonly acted: boolean;
  /** False: the wait was over already. */
  readonly stored: boolean;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly scheduled_at: string | null;
  readonly waits_for: string | null;
  readonly watched: number;
}

/** `answer` becomes the checkpoint. */
export async function wakeJob(
  execute: Execute,
  { tenant, id }: { readonly tenant: string; readonly id: string },
  checkpoint: string,
  answer: JsonText,
): Promise<WokenRow | null> {
  const [woken] = await execute<WokenRow>(sql.wake({ tenant, id, checkpoint, answer }));
  return woken ?? null;
}

export function announceWoken(
  hub: Hub,
  { queue, priority, scheduled_at: at, waits_for: limit, watched }: WokenRow,
): void {
  if (limit !== null) hub.announceLimits({ limits: [limit], slept: false });
  else if (queue !== null && at !== null) hub.announceWork(queue, priority ?? 0, Date.parse(toInstant(at)));
  if (watched > 0) hub.announceEvents();
}
