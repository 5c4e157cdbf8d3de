import type { ReadHeads } from './idle-queues.js';

/**
 * Before the first claim on a queue: is there anything to claim? A claim is a large statement even if it finds nothing.
 * Callers who ask now and then need not care; but workers that poll thousands of queues, most of them empty, would keep
 * the database busy with nothing else. So while one such claim is under way, the other queues are looked at first, all
 * of them in one small statement, and only those with a job that is due are claimed from.
 *
 * Invariants: at most one look is under way, and whoever asks meanwhile shares the next one, so an answer is never
 * older than its question; a queue on which the last claim found something is claimed from at once.
 */
const MAX_PER_LOOK = 5_000;
const MAX_REMEMBERED = 10_000;

interface Asked {
  readonly queue: string;
  readonly answer: (mayHaveWork: boolean) => void;
}

export class ClaimProbe {
  /** Queues on which the last claim found something. */
  readonly #fruitful = new Set<string>();
  #claiming = false;
  #asked: Asked[] = [];
  #looking = false;

  constructor(private readonly readHeads: ReadHeads) {}

  /** Runs the claim, unless there is nothing to claim: then it resolves to null. */
  async claim<T extends { readonly jobs: readonly unknown[] }>(
    queue: string,
    claim: () => Promise<T>,
  ): Promise<T | null> {
    if (this.#fruitful.has(queue)) return this.#run(queue, claim);
    if (this.#claiming) return (await this.#mayHaveWork(queue)) ? this.#run(queue, claim) : null;
    this.#claiming = true;
    try {
      return await this.#run(queue, claim);
    } finally {
      this.#claiming = false;
    }
  }

  async #run<T extends { readonly jobs: readonly unknown[] }>(queue: string, claim: () => Promise<T>): Promise<T> {
    const found = await claim();
    if (found.jobs.length === 0) this.#fruitful.delete(queue);
    else if (this.#fruitful.size < MAX_REMEMBERED) this.#fruitful.add(queue);
    return found;
  }

  #mayHaveWork(queue: string): Promise<boolean> {
    return new Promise((answer) => {
      this.#asked.push({ queue, answer });
      if (!this.#looking) void this.#look();
    });
  }

  async #look(): Promise<void> {
    this.#looking = true;
    // A moment later: requests that arrive together share the first look as well.
    await new Promise(setImmediate);
    while (this.#asked.length > 0) {
      const asked = this.#asked.splice(0, MAX_PER_LOOK);
      const due = await this.#dueAmong(asked.map(({ queue }) => queue));
      for (const { queue, answer } of asked) answer(due === null || due.has(queue));
    }
    this.#looking = false;
  }

  /** Null: the database did not answer. Then the claims will say so. */
  async #dueAmong(queues: readonly string[]): Promise<ReadonlySet<string> | null> {
    try {
      const heads = await this.readHeads([...new Set(queues)]);
      return new Set(heads.filter(({ secs }) => secs <= 0).map(({ queue }) => queue));
    } catch {
      return null;
    }
  }
}
