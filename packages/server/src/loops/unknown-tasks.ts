import type { Logger } from 'pino';

/**
 * Says in the log that jobs name a task which no handler here is registered for. Callers choose the names and how many
 * there are, so each is named once per minute, and there is a bound to how many are remembered.
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
    // At the end, so that the map stays in the order of time.
    this.#saidAt.delete(task);
    this.#saidAt.set(task, now);
    this.logger.warn({ task, queue }, 'no handler is registered for a task: its jobs fail for good, as dead letters');
  }

  /** Whether there is room for another. */
  #forgetOld(now: number): boolean {
    for (const [task, saidAt] of this.#saidAt) {
      if (now - saidAt < AGAIN_AFTER_MS) break;
      this.#saidAt.delete(task);
    }
    return this.#saidAt.size < MAX_REMEMBERED;
  }
}
