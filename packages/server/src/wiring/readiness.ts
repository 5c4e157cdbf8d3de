/**
 * Whether the server can do its work. Anybody may ask, without a credential, so the database is asked at most once per
 * ASK_MS, however many ask and on whichever port: those who come in between get the same answer.
 */
const ASK_MS = 1_000;

export class Readiness {
  #askedAt = -Infinity;
  #answer: Promise<boolean> = Promise.resolve(false);

  /** `now` is a monotonic clock in milliseconds. `ask` must not reject. */
  constructor(
    private readonly ask: () => Promise<boolean>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  ready(): Promise<boolean> {
    const now = this.now();
    if (now - this.#askedAt >= ASK_MS) {
      this.#askedAt = now;
      this.#answer = this.ask();
    }
    return this.#answer;
  }
}
