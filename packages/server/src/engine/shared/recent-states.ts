/**
 * Large states that were told lately, by a name under which they never change. Streams that are opened one after the
 * other, or are slow, get the same object as those before them: what is made of it to be sent is made once.
 *
 * Invariant: at most MAX_CHARS are kept; what was used least lately makes room.
 */
const MAX_CHARS = 16 * 1024 * 1024;
/** Smaller ones are read again: that costs less than asking whether they are known. */
export const LARGE_CHARS = 16 * 1024;

interface Kept<T> {
  readonly state: T;
  readonly chars: number;
}

export class RecentStates<T> {
  readonly #kept = new Map<string, Kept<T>>();
  #chars = 0;

  get(name: string): T | null {
    const kept = this.#kept.get(name);
    if (kept === undefined) return null;
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    return kept.state;
  }

  keep(name: string, state: T, chars: number): void {
    if (chars < LARGE_CHARS || chars > MAX_CHARS || this.#kept.has(name)) return;
    this.#kept.set(name, { state, chars });
    this.#chars += chars;
    for (const [oldest, { chars: less }] of this.#kept) {
      if (this.#chars <= MAX_CHARS) return;
      this.#kept.delete(oldest);
      this.#chars -= less;
    }
  }
}
