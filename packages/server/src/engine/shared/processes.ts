import { randomUUID } from 'node:crypto';
import type { Instant } from '../../domain/records.js';
import { textArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';

/** The processes of the service that run handlers, so that one that runs none can say which tasks there are. */
const sql = loadStatements('shared/presence.sql');

/** Of one process, and of all of them together. */
const MAX_TASKS = 1_000;
const MAX_TASKS_SHOWN = 10_000;

export class Processes {
  readonly #self = randomUUID();

  constructor(private readonly db: Database) {}

  /** Says that this process is there, and what it runs. */
  async register(tasks: readonly string[]): Promise<void> {
    await this.db.run(sql.register_process({ id: this.#self, tasks: textArray(tasks.slice(0, MAX_TASKS)) }));
  }

  /** These tasks and those of the processes that were seen in the last five minutes, sorted. */
  async tasksBeside(own: readonly string[]): Promise<readonly string[]> {
    const rows = await this.db.run<{ task: string }>(sql.registered_tasks({ max_tasks: MAX_TASKS_SHOWN }));
    return [...new Set([...own, ...rows.map(({ task }) => task)])].sort();
  }

  /** The database's clock. */
  async now(): Promise<Instant> {
    const [row] = await this.db.run<{ now: string }>(sql.clock());
    return toInstant(row!.now);
  }
}
