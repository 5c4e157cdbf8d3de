import type { Processes } from './processes.js';

/**
 * Which tasks the processes of the service run, for whoever creates jobs: nobody else takes jobs of the default queue
 * as safely. What this process runs costs nothing to know; of the others, what was read counts for a while, so that
 * creates cost a statement in FRESH_MS at most.
 */
const FRESH_MS = 10_000;
/** A task that was there is believed to be for this long: processes count as gone after five minutes. */
const KNOWN_MS = 60_000;

export class RegisteredTasks {
  readonly #own: ReadonlySet<string>;
  #known: ReadonlySet<string> = new Set();
  #readAt = -Infinity;
  #reading: Promise<void> | null = null;

  /** `own`: what this process runs; empty if it runs nothing. */
  constructor(
    private readonly processes: Processes,
    own: readonly string[],
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#own = new Set(own);
  }

  /** Those of the tasks that no process has registered; none if no process runs any. */
  async missing(tasks: readonly string[]): Promise<readonly string[]> {
    const unknown = (): string[] => tasks.filter((task) => !this.#own.has(task) && !this.#known.has(task));
    const age = this.now() - this.#readAt;
    if (unknown().length === 0 && (age < KNOWN_MS || tasks.every((task) => this.#own.has(task)))) return [];
    if (age >= FRESH_MS) await (this.#reading ??= this.#read());
    return this.#own.size + this.#known.size === 0 ? [] : unknown();
  }

  async #read(): Promise<void> {
    try {
      this.#known = new Set(await this.processes.tasksBeside([]));
      this.#readAt = this.now();
    } finally {
      this.#reading = null;
    }
  }
}
