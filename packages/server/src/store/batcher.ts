import { MillraceError, unavailable } from '../domain/errors.js';
import { isOutage } from './failures.js';

/**
 * Group commit: items that arrive while statements are in flight share the next one. There is no timer: with nothing in
 * flight, an item is sent at the end of the current turn of the event loop, together with everything else that arrived
 * in that turn.
 *
 * Invariants: an item is answered only after its statement has committed; at most `inFlight` statements run at a time;
 * an item that makes its statement fail fails alone (the other items are run again without it).
 */
export interface BatcherOptions<In> {
  readonly maxItems: number;
  /** The size of an item, in characters. One statement holds at most MAX_WEIGHT, or a single item of any size. */
  readonly weigh?: (item: In) => number;
  readonly inFlight: number;
  /** When this many items are waiting, new ones are refused, which bounds latency and memory. */
  readonly maxWaiting: number;
}

/** PostgreSQL rejects messages of a gigabyte, and statements gain nothing from coming near that size. */
const MAX_WEIGHT = 32 * 1024 * 1024;

/** Who waits for the answers to one or more items. */
interface Waiter<Out> {
  readonly resolve: (value: Out, index: number) => void;
  readonly reject: (reason: unknown, index: number) => void;
}

interface Entry<In, Out> {
  readonly item: In;
  /** Which of the waiter's items it is. */
  readonly index: number;
  readonly waiter: Waiter<Out>;
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
    if (this.#waiting.length >= this.options.maxWaiting) return Promise.reject(overloaded());
    return new Promise<Out>((resolve, reject) => {
      this.#waiting.push({ item, index: 0, waiter: { resolve, reject } });
      this.#schedule();
    });
  }

  /** Each item as if submitted by itself, without a promise for each. Refusals are among the answers. */
  submitAll(items: readonly In[]): Promise<(Out | MillraceError)[]> {
    if (items.length === 0) return Promise.resolve([]);
    if (this.#waiting.length >= this.options.maxWaiting) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      const waiter = gather<Out>(items.length, resolve, reject);
      items.forEach((item, index) => this.#waiting.push({ item, index, waiter }));
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
      entries.forEach(({ waiter, index }, n) => waiter.resolve(answers[n] as Out, index));
    } catch (error) {
      await this.#isolate(entries, error);
    }
  }

  /**
   * Splits in half until the failing item is on its own. The failed statement was rolled back, so running its items
   * again is safe.
   */
  async #isolate(entries: readonly Entry<In, Out>[], error: unknown): Promise<void> {
    if (entries.length === 1 || error instanceof MillraceError || isOutage(error)) {
      for (const { waiter, index } of entries) waiter.reject(error, index);
      return;
    }
    const middle = entries.length >> 1;
    await this.#deliver(entries.slice(0, middle));
    await this.#deliver(entries.slice(middle));
  }
}

const overloaded = (): MillraceError => unavailable('the service is overloaded; try again shortly');

/** Resolves once all have been answered; an error that is no refusal fails them together. */
function gather<Out>(
  count: number,
  resolve: (answers: (Out | MillraceError)[]) => void,
  reject: (reason: unknown) => void,
): Waiter<Out> {
  const answers = new Array<Out | MillraceError>(count);
  let left = count;
  const answer = (value: Out | MillraceError, index: number): void => {
    answers[index] = value;
    if (--left === 0) resolve(answers);
  };
  return {
    resolve: answer,
    reject: (reason, index) => {
      if (reason instanceof MillraceError) answer(reason, index);
      else reject(reason);
    },
  };
}
