import type { JobStatus } from '@millrace/contract';
import { MillraceError, notFound } from '../../domain/errors.js';
import { isLimitedId, isUuid } from '../../domain/ids.js';
import { isTerminal } from '../../domain/job-state.js';
import { uuidArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';
import type { Waits } from '../durable/waits.js';
import type { MadeDueRow } from '../outcomes/after-commit.js';
import type { Reads } from './reads.js';

const sql = loadStatements('jobs/attempts.sql');

/** Only jobs with limits can wait for one. */
type MovedRow = Omit<MadeDueRow, 'waits_for'> & Partial<Pick<MadeDueRow, 'waits_for'>>;

interface StandingRow {
  readonly status: JobStatus;
  readonly due: boolean;
}

/** Those of the jobs that only wait for their time become due. Returns what is to be announced after the commit. */
export function makeManyDue(execute: Execute, tenant: string, ids: readonly string[]): Promise<MadeDueRow[]> {
  return execute<MadeDueRow>(sql.run_many_now({ tenant, ids: uuidArray(ids) }));
}

/**
 * Makes waiting jobs due. Like a cancellation it may find that the job has moved since it looked, and looks again until
 * it has acted or there is nothing to do.
 */
export class RunNow {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly reads: Reads,
    private readonly waits: Waits,
  ) {}

  async run(tenant: string, id: string): Promise<void> {
    if (!isUuid(id)) throw notFound('job');
    const waiting = await this.#waiting(tenant, id);
    if (waiting === 'signal')
      throw new MillraceError('conflict', 'the job waits for a signal; send it, or wait for its deadline');
    if (waiting === 'children') throw new MillraceError('conflict', 'the job waits for its children');
    if (waiting === 'sleep') await this.waits.endSleep(id);
    for (;;) {
      const runNow = isLimitedId(id) ? sql.run_now_limited : sql.run_now;
      const [moved] = await this.db.run<MovedRow>(runNow({ tenant, id }));
      if (moved) return this.#announce(moved);
      const [standing] = await this.db.run<StandingRow>(sql.standing_of_job({ tenant, id }));
      if (!standing) throw await this.reads.refusal(id);
      const { status, due } = standing;
      if (isTerminal(status)) throw new MillraceError('already_finished', `the job is already ${status}`);
      if (status === 'running') throw new MillraceError('conflict', 'the job is running');
      if (due) return;
    }
  }

  /** Another tenant's job is refused by what follows. */
  async #waiting(tenant: string, id: string): Promise<'signal' | 'children' | 'sleep' | null> {
    const waiting = await this.waits.of(id);
    if (waiting === null || (await this.reads.owner(id))?.tenant !== tenant) return null;
    if (waiting.children !== null) return 'children';
    return waiting.signal === null ? 'sleep' : 'signal';
  }

  #announce({ queue, priority, scheduled_at: at, watched, waits_for: limit = null }: MovedRow): void {
    if (limit === null) this.hub.announceWork(queue, priority, Date.parse(toInstant(at)));
    else this.hub.announceLimits({ limits: [limit], slept: false });
    if (watched > 0) this.hub.announceEvents();
  }
}
