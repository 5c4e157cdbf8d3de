import { isUnavailable } from '../domain/errors.js';
import { pause } from './pause.js';
import type { BundledCompletion } from '../engine/outcomes/settle.js';

/**
 * Completions of bundled jobs on their way to the database: the path that nearly every job of a busy pool takes, so it makes no promise a
 * job. What comes in while statements are on the way goes together into the next one.
 *
 * Every completion that is added leaves by exactly one of two doors: `stored`, or `missed` when it has to go the long way (it
 * stands in its bundle no more, or one of its statement was not to the database's liking).
 */
export interface OutboxDoors {
  /** Those that did not stand in their bundles any more. */
  store(completions: readonly BundledCompletion[]): Promise<readonly BundledCompletion[]>;
  stored(completions: readonly BundledCompletion[]): void;
  missed(completion: BundledCompletion): void;
}

const MAX_ITEMS = 1_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
const IN_FLIGHT = 2;
const RETRY_MS = 500;

export class Outbox {
  #waiting: BundledCompletion[] = [];
  #flying = 0;
  #size = 0;
  #scheduled = false;

  constructor(private readonly doors: OutboxDoors) {}

  /** How many are on their way. */
  get size(): number {
    return this.#size;
  }

  add(completion: BundledCompletion): void {
    this.#size++;
    this.#waiting.push(completion);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#flying >= IN_FLIGHT || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#flying < IN_FLIGHT && this.#waiting.length > 0) void this.#send(this.#nextOnes());
    });
  }

  #nextOnes(): BundledCompletion[] {
    let characters = 0;
    let n = 0;
    while (n < this.#waiting.length && n < MAX_ITEMS && (n === 0 || characters < MAX_CHARACTERS))
      characters += this.#waiting[n++]!.result.length;
    return this.#waiting.splice(0, n);
  }

  async #send(completions: readonly BundledCompletion[]): Promise<void> {
    this.#flying++;
    try {
      const missed = await this.doors.store(completions);
      this.#leave(completions, missed);
    } catch (error) {
      // One by one, each finds out for itself; while the database is away, a little later.
      if (isUnavailable(error)) await pause(RETRY_MS);
      this.#leave(completions, completions);
    }
    this.#flying--;
    this.#schedule();
  }

  #leave(completions: readonly BundledCompletion[], missed: readonly BundledCompletion[]): void {
    this.#size -= completions.length;
    for (const completion of missed) this.doors.missed(completion);
    if (missed.length === 0) return this.doors.stored(completions);
    const others = new Set(missed);
    this.doors.stored(completions.filter((completion) => !others.has(completion)));
  }
}
