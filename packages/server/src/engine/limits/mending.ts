import { uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';
import { lockLimits } from './admitter.js';
import { FIRST_ID } from './unique.js';

/**
 * Puts right how many jobs run under limits, where processes of earlier versions have ended some. Goes through all
 * limits, finds those that count wrongly, and counts them anew, so many at a time, so that its caller can do other
 * things in between.
 */
const sql = loadStatements('limits/mend.sql');

const MAX_FOUND = 10_000;
const BATCH = 500;

export class Mending {
  /** Where to look for others; null: nowhere. */
  #after: string | null = null;
  #found: string[] = [];
  /** Somebody else held them. They are tried once more, at the end. */
  #busy: string[] = [];

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
  ) {}

  get isOver(): boolean {
    return this.#after === null && this.#found.length + this.#busy.length === 0;
  }

  begin(): void {
    this.#after ??= FIRST_ID;
  }

  /** Does the next part. Returns how many limits it has mended. */
  async step(): Promise<number> {
    if (this.#found.length === 0 && this.#after !== null) await this.#find(this.#after);
    const isLastTry = this.#found.length === 0;
    const batch = (isLastTry ? this.#busy : this.#found).splice(0, BATCH);
    if (batch.length === 0) return 0;
    const { held, mended } = await this.db.transaction(async (execute) => {
      const { held } = await lockLimits(execute, batch);
      const rows = held.size === 0 ? [] : await execute<{ id: string }>(sql.recount({ ids: uuidArray([...held]) }));
      return { held, mended: rows.map(({ id }) => id) };
    });
    if (!isLastTry) this.#busy.push(...batch.filter((id) => !held.has(id)));
    this.hub.announceLimits({ limits: mended, slept: false });
    return mended.length;
  }

  async #find(after: string): Promise<void> {
    const found = await this.db.runPlanned<{ id: string }>(sql.miscounted({ after, max_limits: MAX_FOUND }));
    this.#found = found.map(({ id }) => id);
    this.#after = this.#found.length === MAX_FOUND ? this.#found.at(-1)! : null;
  }
}
