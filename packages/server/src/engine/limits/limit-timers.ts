/**
 * When to look at which limits again, as far as this process knows: so that a token is given out when it comes, and not
 * when the next sweep does. What is not remembered here, the sweep finds within a second.
 *
 * The instants are in a heap, the next one first. One that no longer holds, because another was set for its limit,
 * stays there until it comes up.
 */
const MOST_KEPT = 100_000;
/** Those that are due together are looked at together. */
const TOGETHER_MS = 2;
const LONGEST_MS = 60_000;

interface Look {
  readonly at: number;
  readonly limit: string;
}

export class LimitTimers {
  readonly #dueAt = new Map<string, number>();
  #heap: Look[] = [];
  #timer: NodeJS.Timeout | null = null;
  #firesAt = Infinity;
  #stopped = false;

  constructor(private readonly look: (limits: readonly string[]) => void) {}

  set(limit: string, inMs: number): void {
    if (this.#stopped || inMs > LONGEST_MS || (this.#dueAt.size >= MOST_KEPT && !this.#dueAt.has(limit))) return;
    const at = performance.now() + inMs;
    this.#dueAt.set(limit, at);
    push(this.#heap, { at, limit });
    if (this.#heap.length > 2 * MOST_KEPT) this.#heap = this.#heap.filter((each) => this.#holds(each)).sort(byInstant);
    if (at < this.#firesAt) this.#arm(at);
  }

  /** It has been looked at meanwhile. What was set for an instant after `by` was set since, and holds. */
  forget(limit: string, by: number): void {
    if ((this.#dueAt.get(limit) ?? Infinity) <= by) this.#dueAt.delete(limit);
  }

  stop(): void {
    this.#stopped = true;
    this.#dueAt.clear();
    this.#heap = [];
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
    const due: string[] = [];
    for (let next = this.#heap[0]; next !== undefined; next = this.#heap[0]) {
      const holds = this.#holds(next);
      if (holds && next.at > until) break;
      pop(this.#heap);
      if (holds && this.#dueAt.delete(next.limit)) due.push(next.limit);
    }
    if (this.#heap.length > 0) this.#arm(this.#heap[0]!.at);
    if (due.length > 0) this.look(due);
  }

  #holds({ at, limit }: Look): boolean {
    return this.#dueAt.get(limit) === at;
  }
}

const byInstant = (a: Look, b: Look): number => a.at - b.at;

/** Nothing in the heap is later than what is below it. */
function push(heap: Look[], look: Look): void {
  let place = heap.length;
  for (let above = (place - 1) >> 1; place > 0 && heap[above]!.at > look.at; above = (place - 1) >> 1) {
    heap[place] = heap[above]!;
    place = above;
  }
  heap[place] = look;
}

/** Takes away the first. */
function pop(heap: Look[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let place = 0;
  for (let below = 1; below < heap.length; below = 2 * place + 1) {
    if (below + 1 < heap.length && heap[below + 1]!.at < heap[below]!.at) below++;
    if (heap[below]!.at >= last.at) break;
    heap[place] = heap[below]!;
    place = below;
  }
  heap[place] = last;
}
