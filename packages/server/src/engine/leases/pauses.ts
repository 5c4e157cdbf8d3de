import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';

/**
 * Pausing a queue. The claim statement itself looks whether its queue is paused, so a pause holds from its commit on,
 * in every process, with nothing to announce and nothing remembered that could be out of date. Only the end of a pause
 * is announced: whoever waits on the queue would otherwise not look again for seconds.
 */
const sql = loadStatements('leases/pauses.sql');

export class Pauses {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
  ) {}

  async pause(queue: string): Promise<void> {
    await this.db.run(sql.pause_queue({ queue }));
  }

  /** Other processes hear of it from the statement, and so does this one where it listens at all. */
  async resume(queue: string): Promise<void> {
    await this.db.run(sql.resume_queue({ queue }));
    this.hub.hear({ queues: new Map([[queue, []]]), events: false, crons: null });
  }
}
