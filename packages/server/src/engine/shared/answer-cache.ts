/**
 * Keeps answers that are costly to find: a count over a long queue takes longer the longer the queue is, and every
 * dashboard that is open asks for it every two seconds. An answer says how long it may be given again. For as long
 * again it is still given, but the next one is being found meanwhile, so that nobody who keeps asking waits for it.
 * What says nothing is never kept: whoever has few jobs reads their own writes.
 *
 * Invariants: at most one search for an answer is under way at a time; whoever asks meanwhile waits for it. If what it
 * finds may be given again, they get it, as if they had asked a moment later. If not, it may miss what they have just
 * written, and they share an answer whose search began after all of them had asked.
 */
interface Kept<T> {
  readonly answer: T;
  readonly at: number;
  readonly freshMs: number;
  isRenewed: boolean;
}

export interface CachedAnswer<T> {
  readonly answer: T;
  /** Its search began before it was asked for: what has changed since may be missing. */
  readonly isKept: boolean;
}

/** How many answers are kept; the one that was found first makes room. */
const MAX_KEPT = 100;

export class AnswerCache<T> {
  readonly #kept = new Map<string, Kept<T>>();
  readonly #underWay = new Map<string, Promise<T>>();

  /** `freshMsOf`: for how long an answer may be given again; 0: not at all. */
  constructor(private readonly freshMsOf: (answer: T) => number) {}

  async ask(question: string, find: () => Promise<T>): Promise<CachedAnswer<T>> {
    const kept = this.#kept.get(question);
    const age = kept === undefined ? Infinity : performance.now() - kept.at;
    if (kept === undefined || age > 2 * kept.freshMs) return this.#wait(question, find);
    if (age > kept.freshMs && !kept.isRenewed) {
      kept.isRenewed = true;
      // If it fails, whoever asks when the old answer has expired is told.
      this.#find(question, find).catch(() => undefined);
    }
    return { answer: kept.answer, isKept: true };
  }

  async #wait(question: string, find: () => Promise<T>): Promise<CachedAnswer<T>> {
    const earlier = this.#underWay.get(question);
    if (earlier === undefined) return { answer: await this.#find(question, find), isKept: false };
    const answer = await earlier;
    if (this.freshMsOf(answer) > 0) return { answer, isKept: true };
    // Another of those that waited may have been first: that search began after this one had asked as well.
    const later = this.#underWay.get(question) ?? this.#find(question, find);
    return { answer: await later, isKept: false };
  }

  #find(question: string, find: () => Promise<T>): Promise<T> {
    const search = find()
      .then((answer) => this.#keep(question, answer))
      .finally(() => this.#underWay.delete(question));
    this.#underWay.set(question, search);
    return search;
  }

  #keep(question: string, answer: T): T {
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
