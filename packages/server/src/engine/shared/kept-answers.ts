/**
 * Keeps answers that are costly to find: a count over a long queue takes longer the longer the queue is, and every
 * dashboard that is open asks for it every two seconds. An answer says how long it may be given again. For as long
 * again it is still given, but the next one is being found meanwhile, so that nobody who keeps asking waits for it.
 * What says nothing is never kept: whoever has few jobs reads their own writes.
 */
interface Kept<T> {
  readonly answer: T;
  readonly at: number;
  readonly freshMs: number;
  isRenewed: boolean;
}

/** How many answers are kept; the one that was found first makes room. */
const MAX_KEPT = 100;

export class KeptAnswers<T> {
  readonly #kept = new Map<string, Kept<T>>();

  /** `freshMsOf`: for how long an answer may be given again; 0: not at all. */
  constructor(private readonly freshMsOf: (answer: T) => number) {}

  /** `isKept`: it was found earlier. */
  async ask(question: string, find: () => Promise<T>): Promise<{ readonly answer: T; readonly isKept: boolean }> {
    const kept = this.#kept.get(question);
    const age = kept === undefined ? Infinity : performance.now() - kept.at;
    if (kept === undefined || age > 2 * kept.freshMs)
      return { answer: await this.#find(question, find), isKept: false };
    if (age > kept.freshMs && !kept.isRenewed) {
      kept.isRenewed = true;
      // If it fails, whoever asks when the old answer has expired is told.
      this.#find(question, find).catch(() => undefined);
    }
    return { answer: kept.answer, isKept: true };
  }

  async #find(question: string, find: () => Promise<T>): Promise<T> {
    const answer = await find();
    this.#kept.delete(question);
    const freshMs = this.freshMsOf(answer);
    if (freshMs > 0) this.#kept.set(question, { answer, at: performance.now(), freshMs, isRenewed: false });
    const [first] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && first !== undefined) this.#kept.delete(first);
    return answer;
  }
}

/** Where so many jobs wait, counts are kept for a while: a second for each hundred thousand, at most fifteen. */
const MANY = 100_000;
const MAX_FRESH_MS = 15_000;

/** How long a count that looked at so many jobs may be given again. */
export const freshMsOfCount = (waiting: number): number =>
  waiting < MANY ? 0 : Math.min(MAX_FRESH_MS, (1_000 * waiting) / MANY);
