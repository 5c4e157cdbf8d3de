import { unavailable } from '../domain/errors.js';
import { isOutage } from './failures.js';
import { MillraceError } from '../domain/errors.js';

/**
 * Group commit: what arrives while statements are in flight goes together into the next one. No timer: with nothing in
 * flight an item leaves at the end of the current turn of the event loop, and everything that arrived in that turn
 * leaves with it.
 *
 * Invariants: an item is answered after its statement committed, never before; at most `inFlight` statements at a time;
 * a failure that is one item's own fault is that item's alone (its neighbours are run again without it).
 */
export interface BatcherOptions<In> {
  readonly maxItems: number;
  /**
   * How much of a statement an item makes up, in characters. One statement holds what MAX_WEIGHT allows, or a single
   * item.
   */
  readonly weigh?: (item: In) => number;
  readonly inFlight: number;
  /** Beyond this many waiting, new ones are refused: latency stays bounded, and so does memory. */
  readonly maxWaiting: number;
}

/** PostgreSQL takes no message of a gigabyte, and nothing gets better by coming near. */
const MAX_WEIGHT = 32 * 1024 * 1024;

interface Entry<In, Out> {
  readonly item: In;
  readonly resolve: (value: Out) => void;
  readonly reject: (reason: unknown) => void;
}

export class Batcher<In, Out> {
  #waiting: Entry<In, Out>[] = [];
  #flying = 0;
  #scheduled = false;

  constructor(
    private readonly flush: (items: readonly In[]) => Promise<readonly Out[]>,
    private readonly options: BatcherOptions<In>,
  ) {}

  submit(item: In): Promise<Out> {
    if (this.#waiting.length >= this.options.maxWaiting)
      return Promise.reject(unavailable('the service is overloaded; try again shortly'));
    return new Promise<Out>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#flying >= this.options.inFlight || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#flying < this.options.inFlight && this.#waiting.length > 0) this.#launch();
    });
  }

  #launch(): void {
    const entries = this.#waiting.splice(0, this.#nextCount());
    this.#flying++;
    void this.#deliver(entries).finally(() => {
      this.#flying--;
      this.#schedule();
    });
  }

  #nextCount(): number {
    const { maxItems, weigh } = this.options;
    const most = Math.min(maxItems, this.#waiting.length);
    if (!weigh) return most;
    let weight = 0;
    for (let n = 0; n < most; n++) {
      weight += weigh(this.#waiting[n]!.item);
      if (weight > MAX_WEIGHT) return Math.max(1, n);
    }
    return most;
  }

  async #deliver(entries: readonly Entry<In, Out>[]): Promise<void> {
    try {
      const answers = await this.flush(entries.map((entry) => entry.item));
      entries.forEach((entry, index) => entry.resolve(answers[index] as Out));
    } catch (error) {
      await this.#isolate(entries, error);
    }
  }

  /**
   * Halves until the one that fails stands alone. The failed statement was rolled back, so running its items again is
   * safe.
   */
  async #isolate(entries: readonly Entry<In, Out>[], error: unknown): Promise<void> {
    if (entries.length === 1 || error instanceof MillraceError || isOutage(error)) {
      for (const entry of entries) entry.reject(error);
      return;
    }
    const middle = entries.length >> 1;
    await this.#deliver(entries.slice(0, middle));
    await this.#deliver(entries.slice(middle));
  }
}
