export type ReadKind = 'page' | 'count';

/**
 * How much time a tenant's costly reads may take, over time. Turns bound how many of them run at once; but a tenant
 * that asks for exact totals, or for its largest jobs, as fast as they are answered would keep a core busy for as long
 * as it likes. So each tenant has an allowance: BURST_MS of costly reads at once, as a page of the dashboard needs
 * them, and after that a fraction of the time that passes. Counts and pages have one each.
 *
 * Short counts and pages of ordinary size cost nothing, however many there are. Time is measured, not estimated: on a
 * busy machine everything takes longer, and costly reads become rarer.
 *
 * Invariant: only tenants that have spent something not yet made up for are remembered.
 */
const BURST_MS = 1_000;
/** How much of each millisecond that passes is added to the allowance. */
const REGAINED = { count: 0.1, page: 0.25 } as const;
/** A count is free up to this. */
const FREE_COUNT_MS = 5;
/** A page is free unless it is larger. */
const FREE_PAGE_BYTES = 256 * 1024;

interface Spent {
  readonly ms: number;
  readonly at: number;
}

export class ReadPace {
  readonly #spent = { count: new Map<string, Spent>(), page: new Map<string, Spent>() };

  /** `now` is a monotonic clock in milliseconds. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** How long the tenant's next read of this kind has to wait. */
  waitMs(tenant: string, kind: ReadKind): number {
    return Math.max(0, (this.#spentBy(tenant, kind) - BURST_MS) / REGAINED[kind]);
  }

  /** A read of so many bytes took so long. */
  spend(tenant: string, kind: ReadKind, ms: number, bytes: number): void {
    const cost = kind === 'count' ? ms - FREE_COUNT_MS : bytes > FREE_PAGE_BYTES ? ms : 0;
    if (cost <= 0) return;
    const spent = this.#spent[kind];
    const total = this.#spentBy(tenant, kind) + cost;
    // In the order in which they last spent something: the first to be forgotten are in front.
    spent.delete(tenant);
    spent.set(tenant, { ms: total, at: this.now() });
    for (const name of spent.keys()) {
      if (this.#spentBy(name, kind) > 0) break;
      spent.delete(name);
    }
  }

  #spentBy(tenant: string, kind: ReadKind): number {
    const spent = this.#spent[kind].get(tenant);
    return spent === undefined ? 0 : Math.max(0, spent.ms - (this.now() - spent.at) * REGAINED[kind]);
  }
}
