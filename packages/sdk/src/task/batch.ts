import { MismatchError } from '../errors/handler-errors.js';
import { milliseconds } from '../shared/duration.js';
import type { BatchOptions, JobContext, RunMany } from './types.js';

const MOST = 1_000;

interface Waiting<In, Out> {
  readonly input: In;
  readonly ctx: JobContext;
  readonly resolve: (result: Out) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers the jobs of a task that run at the same time into calls. Each keeps its own lease, timeout and outcome; the
 * worker knows nothing of it.
 */
export class Batches<In, Out> {
  readonly size: number;
  readonly #lingerMs: number;
  readonly #waiting = new Set<Waiting<In, Out>>();
  #timer: NodeJS.Timeout | undefined;
  #enough: number;

  constructor(
    private readonly runMany: RunMany<In, Out>,
    { size = 100, linger = '100ms' }: BatchOptions,
  ) {
    if (!Number.isInteger(size) || size < 1 || size > MOST)
      throw new TypeError(`the size of a batch is 1 to ${MOST}, not ${size}`);
    this.size = size;
    this.#enough = size;
    this.#lingerMs = milliseconds(linger);
  }

  /** One job; resolves to its own result. */
  readonly run = (input: In, ctx: JobContext): Promise<Out> =>
    new Promise((resolve, reject) => {
      const waiting = { input, ctx, resolve, reject };
      this.#waiting.add(waiting);
      // Whoever is cancelled before the call is made is left out of it; later its outcome no longer matters.
      const leave = (): void => {
        this.#waiting.delete(waiting);
        reject(ctx.signal.reason as Error);
      };
      if (ctx.signal.aborted) return leave();
      ctx.signal.addEventListener('abort', leave, { once: true });
      if (this.#waiting.size >= this.#enough) return this.#flush();
      this.#timer ??= setTimeout(() => this.#flush(), this.#lingerMs);
    });

  /** No more than these will come beside those that wait: the next call need not wait for others. */
  readonly expect = (jobs: number): void => {
    this.#enough = Math.min(this.#waiting.size + jobs, this.size);
  };

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#enough = this.size;
    const all = [...this.#waiting];
    this.#waiting.clear();
    if (all.length > 0) void this.#call(all);
  }

  async #call(all: readonly Waiting<In, Out>[]): Promise<void> {
    try {
      const inputs = all.map(({ input }) => input);
      const jobs = all.map(({ ctx }) => ctx);
      const results = await this.runMany(inputs, { jobs, signal: whenAllAborted(jobs.map(({ signal }) => signal)) });
      if (!Array.isArray(results) || results.length !== all.length) throw new MismatchError(miscounted(all, results));
      all.forEach(({ resolve, reject }, index) => {
        const result = results[index] as Out | Error;
        if (result instanceof Error) reject(result);
        else resolve(result);
      });
    } catch (error) {
      for (const { reject } of all) reject(error);
    }
  }
}

const miscounted = (all: readonly unknown[], results: unknown): string =>
  `handleMany returns one outcome per input: ${all.length} were expected, and ` +
  (Array.isArray(results) ? `${results.length} came` : 'no list came');

function whenAllAborted(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  let left = signals.length;
  const note = (reason: unknown): void => {
    if (--left === 0) controller.abort(reason);
  };
  for (const signal of signals) {
    if (signal.aborted) note(signal.reason);
    else signal.addEventListener('abort', () => note(signal.reason), { once: true });
  }
  return controller.signal;
}
