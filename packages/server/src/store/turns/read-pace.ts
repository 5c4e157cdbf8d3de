import { Allowance } from './allowance.js';

export type ReadKind = 'page' | 'count';

/**
 * How much time costly reads may take, over time. Turns bound how many of them run at once; but a tenant that asks for
 * exact totals, or for its largest jobs, as fast as they are answered would keep a core busy for as long as it likes.
 * So each tenant has an allowance for counts, one for pages, and each count one of its own.
 *
 * The tenant's allowance for counts is large: somebody who looks through the dashboard needs several for every page,
 * and on a tenant with a million jobs none of them is short. That of a single count is small: nobody needs the same
 * number many times per second, and those who ask while it rests share the next answer (coalescer.ts).
 *
 * Short counts and pages of ordinary size cost nothing, however many there are.
 */
const COUNTS = { burstMs: 5_000, regained: 0.25 };
const PAGES = { burstMs: 1_000, regained: 0.25 };
const SAME_COUNT = { burstMs: 1_000, regained: 0.05 };
/** Several reads of a tenant may wait for each other, and each of them for the next rest, before it is their turn. */
const MAX_WAIT_MS = 500;
/** A count is free up to this. */
const FREE_COUNT_MS = 5;
/** A page is free unless it is larger. */
const FREE_PAGE_BYTES = 256 * 1024;

export class ReadPace {
  readonly #ofTenants: { readonly count: Allowance; readonly page: Allowance };
  readonly #sameCounts: Allowance;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    const common = { maxWaitMs: MAX_WAIT_MS, now };
    this.#ofTenants = { count: new Allowance({ ...COUNTS, ...common }), page: new Allowance({ ...PAGES, ...common }) };
    this.#sameCounts = new Allowance({ ...SAME_COUNT, ...common });
  }

  /** How long the tenant's next read of this kind has to wait. */
  waitMs(tenant: string, kind: ReadKind): number {
    return this.#ofTenants[kind].waitMs(tenant);
  }

  /** How long this count has to wait until it is made again. */
  restMs(count: string): number {
    return this.#sameCounts.waitMs(count);
  }

  pageTook(tenant: string, ms: number, bytes: number): void {
    if (bytes > FREE_PAGE_BYTES) this.#ofTenants.page.spend(tenant, ms);
  }

  countTook(tenant: string, count: string, ms: number): void {
    this.#ofTenants.count.spend(tenant, ms - FREE_COUNT_MS);
    this.#sameCounts.spend(count, ms - FREE_COUNT_MS);
  }
}
