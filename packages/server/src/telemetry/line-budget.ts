/**
 * A bound on how many lines something may write: BURST at once, and PER_SECOND in the long run. What does not fit is
 * counted, and the count is told TELL_MS later, in one line.
 */
const BURST = 20;
const PER_SECOND = 5;
const TELL_MS = 10_000;

export class LineBudget {
  #tokens = BURST;
  #filledAt: number;
  #suppressed = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly tellSuppressed: (n: number) => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#filledAt = now();
  }

  /** Whether the line may be written. */
  take(): boolean {
    const now = this.now();
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#filledAt) / 1000) * PER_SECOND);
    this.#filledAt = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return true;
    }
    this.#suppressed += 1;
    this.#timer ??= setTimeout(() => this.tell(), TELL_MS).unref();
    return false;
  }

  /** Tells now what was suppressed, if anything was. */
  tell(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const n = this.#suppressed;
    this.#suppressed = 0;
    if (n > 0) this.tellSuppressed(n);
  }
}
