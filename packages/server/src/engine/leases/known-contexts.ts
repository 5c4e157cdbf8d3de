/**
 * Contexts that this process has read lately. The steps that wait for one step all receive the same context when it
 * ends, and there may be hundreds of them, in many claims: a context of megabytes is read once, not with every claim.
 * A version of a context never changes, so what is known stays right.
 *
 * Invariant: at most MAX_CHARS are kept; what was used least lately makes room.
 */
const MAX_CHARS = 16 * 1024 * 1024;
/** Shorter ones are read again: that costs less than asking whether they are known. */
const MIN_CHARS = 64 * 1024;

const NONE: ReadonlyMap<string, string> = new Map();

export const contextKey = (workflowId: string, version: number): string => `${workflowId}/${version}`;

export class KnownContexts {
  readonly #texts = new Map<string, string>();
  #chars = 0;

  /** By key. It stays as it is while others come and go. */
  now(): ReadonlyMap<string, string> {
    return this.#texts.size === 0 ? NONE : new Map(this.#texts);
  }

  used(key: string, text: string): void {
    if (text.length < MIN_CHARS || text.length > MAX_CHARS) return;
    if (this.#texts.delete(key)) this.#chars -= text.length;
    this.#texts.set(key, text);
    this.#chars += text.length;
    for (const [oldest, { length }] of this.#texts) {
      if (this.#chars <= MAX_CHARS) return;
      this.#texts.delete(oldest);
      this.#chars -= length;
    }
  }
}
