/**
 * How long one of several databases is waited for, before the others go on without it. What it was asked for goes on as
 * well, and until that is answered it counts as slow: nobody asks it again.
 *
 * One that answers late, and does answer, is given twice that time afterwards: or one whose answers always took a
 * little too long would never be heard.
 */
const LEAST_MS = 1_000;
/** By then a statement has failed. */
const MOST_MS = 10_000;

export class Patience<K extends object> {
  readonly #slow = new Set<K>();
  readonly #tookMs = new WeakMap<K, number>();

  constructor(private readonly leastMs = LEAST_MS) {}

  isSlow(who: K): boolean {
    return this.#slow.has(who);
  }

  /** The answer, or null: it takes too long. */
  inTime<T extends object>(who: K, answer: Promise<T>): Promise<T | null> {
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      const patienceMs = Math.min(MOST_MS, Math.max(this.leastMs, 2 * (this.#tookMs.get(who) ?? 0)));
      const timer = setTimeout(() => {
        this.#slow.add(who);
        resolve(null);
      }, patienceMs);
      const ended = (): void => {
        clearTimeout(timer);
        this.#slow.delete(who);
      };
      answer.then(
        (given) => {
          ended();
          this.#tookMs.set(who, performance.now() - startedAt);
          resolve(given);
        },
        (error: Error) => {
          ended();
          reject(error);
        },
      );
    });
  }
}
