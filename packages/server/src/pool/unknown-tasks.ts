import type { Logger } from 'pino';

/**
 * Logs that jobs name a task for which no handler is registered here. Callers choose the names and how many there are,
 * so each name is logged at most once per minute, and the number of names remembered is bounded.
 */
const AGAIN_AFTER_MS = 60_000;
const MAX_REMEMBERED = 1_000;

export class UnknownTasks {
  readonly #saidAt = new Map<string, number>();

  constructor(
    private readonly logger: Logger,
    private readonly now: () => number = () => performance.now(),
  ) {}

  meet(task: string, queue: string): void {
    const now = this.now();
    const saidAt = this.#saidAt.get(task);
    if (saidAt !== undefined && now - saidAt < AGAIN_AFTER_MS) return;
    if (saidAt === undefined && this.#saidAt.size >= MAX_REMEMBERED && !this.#forgetOld(now)) return;
    // Moved to the end, so that the map stays in order of time.
    this.#saidAt.delete(task);
    this.#saidAt.set(task, now);
    this.logger.warn({ task, queue }, 'no handler is registered for a task: its jobs are dead-lettered at once');
  }

  /** Returns whether there is now room for another. */
  #forgetOld(now: number): boolean {
    for (const [task, saidAt] of this.#saidAt) {
      if (now - saidAt < AGAIN_AFTER_MS) break;
      this.#saidAt.delete(task);
    }
    return this.#saidAt.size < MAX_REMEMBERED;
  }
}
