import type { JsonObject } from '../../json/object.js';

/** How many jobs are remembered; the oldest are forgotten. */
const MOST = 1_000;

/** What attempts last said about themselves, for the next attempt of the same job if this process gets it again. */
export class ProgressMemory {
  readonly #last = new Map<string, JsonObject>();

  set(jobId: string, value: JsonObject): void {
    this.#last.delete(jobId);
    this.#last.set(jobId, value);
    if (this.#last.size <= MOST) return;
    const [oldest] = this.#last.keys();
    if (oldest !== undefined) this.#last.delete(oldest);
  }

  get(jobId: string): JsonObject | null {
    return this.#last.get(jobId) ?? null;
  }

  forget(jobId: string): void {
    this.#last.delete(jobId);
  }
}
