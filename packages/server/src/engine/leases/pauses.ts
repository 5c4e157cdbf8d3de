import type { Execute } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { AuditStamp } from '../api.js';
import type { Audit } from '../shared/audit.js';
import type { Hub } from '../shared/hub.js';

/**
 * Pausing a queue. The claim statement itself looks whether its queue is paused, so a pause holds from its commit on,
 * in every process, with nothing to announce and nothing remembered that could be out of date. Only the end of a pause
 * is announced: whoever waits on the queue would otherwise not look again for seconds.
 */
const sql = loadStatements('leases/pauses.sql');

interface PauseRow {
  readonly paused_at: string;
  readonly paused_reason: string | null;
  readonly paused_by: string | null;
}

export class Pauses {
  constructor(
    private readonly audit: Audit,
    private readonly hub: Hub,
  ) {}

  /** One that is paused already stays so since when it was; a reason replaces the one that was given before. */
  async pause(queue: string, reason: string | null, stamp: AuditStamp): Promise<void> {
    await this.audit.change(stamp, 'pause_queue', queue, pauseOf(queue), async (execute) => {
      const [begun] = await execute(sql.pause_queue({ queue, at: stamp.at }));
      if (begun || reason !== null) await execute(sql.note_pause({ queue, reason, operator: stamp.operator }));
    });
  }

  /** Other processes hear of it from the statement, and so does this one where it listens at all. */
  async resume(queue: string, stamp: AuditStamp): Promise<void> {
    await this.audit.change(stamp, 'resume_queue', queue, pauseOf(queue), async (execute) => {
      await execute(sql.resume_queue({ queue }));
    });
    this.hub.hear({ queues: new Map([[queue, []]]), events: false, crons: null });
  }
}

/** As the audit shows it; null: the queue is not paused. */
const pauseOf = (queue: string) => async (execute: Execute) => {
  const [row] = await execute<PauseRow>(sql.pause_of({ queue }));
  return row ? { ...row, paused_at: toInstant(row.paused_at) } : null;
};
