/**
 * When to look at which limits again, as far as this process knows: so that a token is given out when it comes, and not
 * when the next sweep does. What is not remembered here, the sweep finds.
 */
const MOST_KEPT = 1_000;
/** Those that are due together are looked at together. */
const TOGETHER_MS = 2;
const LONGEST_MS = 60_000;

export class LookTimers {
  readonly #dueAt = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #firesAt = Infinity;
  #stopped = false;

  constructor(private readonly look: (limits: readonly string[]) => void) {}

  set(limit: string, inMs: number): void {
    if (this.#stopped || inMs > LONGEST_MS || (this.#dueAt.size >= MOST_KEPT && !this.#dueAt.has(limit))) return;
    const at = performance.now() + inMs;
    this.#dueAt.set(limit, at);
    if (at < this.#firesAt) this.#arm(at);
  }

  clear(limit: string): void {
    this.#dueAt.delete(limit);
  }

  stop(): void {
    this.#stopped = true;
    this.#dueAt.clear();
    if (this.#timer) clearTimeout(this.#timer);
  }

  #arm(at: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#firesAt = at;
    this.#timer = setTimeout(() => this.#fire(), Math.ceil(Math.max(0, at - performance.now())));
    this.#timer.unref();
  }

  #fire(): void {
    this.#timer = null;
    this.#firesAt = Infinity;
    const until = performance.now() + TOGETHER_MS;
    const due = [...this.#dueAt].flatMap(([limit, at]) => (at <= until ? [limit] : []));
    for (const limit of due) this.#dueAt.delete(limit);
    const next = Math.min(...this.#dueAt.values());
    if (next < Infinity) this.#arm(next);
    if (due.length > 0) this.look(due);
  }
}
