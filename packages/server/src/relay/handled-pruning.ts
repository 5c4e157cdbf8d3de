import type { OutboxDatabase } from '../store/outbox/outbox-database.js';
import { forgetHandled } from '../store/outbox/upkeep.js';

/**
 * Forgets effects that happened so long ago that nobody asks again (docs/outbox.md), beside whatever else the relay
 * does. It looks once an hour, and while there is more, takes a bounded step at a time, with a pause after each: of all
 * time at most a fifth, in which keys go faster than applications can write them.
 */
const HANDLED_SECS = 400 * 86_400;
const LOOK_MS = 3_600_000;
const AFTER_FAILURE_MS = 60_000;
/** After each step, so many times as long as it took. */
const REST = 4;

export class HandledPruning {
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();
  /** Up to where the steps since the last look have come. */
  #from: string | null = null;
  #stopped = false;

  constructor(
    private readonly outbox: OutboxDatabase,
    private readonly failed: (error: unknown) => void,
  ) {}

  start(): void {
    this.#later(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#running;
  }

  #later(ms: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#step();
    }, ms);
  }

  async #step(): Promise<void> {
    const startedAt = performance.now();
    try {
      this.#from = (await forgetHandled(this.outbox, HANDLED_SECS, this.#from)).next;
    } catch (error) {
      this.failed(error);
      return this.#later(AFTER_FAILURE_MS);
    }
    this.#later(this.#from === null ? LOOK_MS : REST * (performance.now() - startedAt));
  }
}
