import type { Logger } from 'pino';
import type { JsonText } from '../domain/records.js';
import { groupBy } from '../domain/group-by.js';
import type { Bundle, HeldJob } from '../engine/leases/bundle.js';
import type { MarkMove } from '../engine/leases/claim-mark.js';
import type { LeaseKeeper } from '../engine/leases/lease-keeper.js';
import type { BundleCompletions, BundleSettler } from '../engine/outcomes/bundles.js';

/**
 * Where each job of the pool is held:
 *
 *   bundled → alone → gone      bundled → gone
 *
 * Bundled: in one row with others (see the bundles table). Alone: under a lease of its own, either since the claim or
 * since it was separated. Gone: no longer held by the pool. Only completions act on bundled jobs; every other outcome
 * separates the job first. A cancellation or the janitor may separate it too, so when a job is missing from its bundle,
 * we look for it among the leases before we count it as lost.
 *
 * Leases are extended long before they expire. Any lease held for longer than ASK_MS is also checked regularly, so that
 * the handler of a cancelled job is stopped instead of merely having its outcome ignored.
 */
export interface HeldCompletion {
  readonly held: HeldJob;
  readonly result: JsonText;
}

const ASK_MS = 500;

export class HeldLeases {
  /** Since when each is held, by performance.now(). A bundled job counts from its bundle's claim. */
  readonly #alone = new Map<HeldJob, number>();
  readonly #bundles = new Map<Bundle, number>();
  /** Bundles whose last members two concurrent statements completed: neither knew that it could delete the row. */
  #emptied: string[] = [];
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> | null = null;
  #extendedAt = performance.now();
  #lose: (held: HeldJob) => void = () => undefined;

  constructor(
    private readonly keeper: LeaseKeeper,
    private readonly settler: Pick<BundleSettler, 'complete' | 'unbundle'>,
    private readonly leaseSecs: number,
    private readonly logger: Logger,
  ) {}

  start(lose: (held: HeldJob) => void): void {
    this.#lose = lose;
    this.#timer = setInterval(() => {
      this.#checking ??= this.check().finally(() => (this.#checking = null));
    }, ASK_MS);
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#checking;
  }

  add(held: HeldJob): void {
    if (held.bundle) this.#bundles.set(held.bundle, performance.now());
    else this.#alone.set(held, performance.now());
  }

  /** Those that are held elsewhere from now on. */
  takeOut(isElsewhere: (held: HeldJob) => boolean): HeldJob[] {
    const alone = [...this.#alone.keys()].filter(isElsewhere);
    for (const held of alone) this.#alone.delete(held);
    // A bundle is of one tenant.
    const bundles = [...this.#bundles.keys()].filter((bundle) => [...bundle.members()].some(isElsewhere));
    for (const bundle of bundles) this.#bundles.delete(bundle);
    return [...alone, ...bundles.flatMap((bundle) => [...bundle.members()])];
  }

  isGone(held: HeldJob): boolean {
    return !this.#alone.has(held) && !this.isBundled(held);
  }

  isBundled(held: HeldJob): boolean {
    return held.bundle?.holds(held) ?? false;
  }

  /**
   * Completes bundled jobs in one statement, which also moves marks. Returns the completions whose jobs turn out not to
   * be in their bundles.
   */
  async completeBundled(completions: readonly HeldCompletion[], moves: readonly MarkMove[]): Promise<HeldCompletion[]> {
    const missed = completions.filter(({ held }) => !this.isBundled(held));
    const shares = sharesOf(missed.length === 0 ? completions : completions.filter(({ held }) => this.isBundled(held)));
    const emptied = this.#emptied;
    this.#emptied = [];
    try {
      const answers = await this.settler.complete(shares.map(toBundleCompletions), emptied, moves);
      shares.forEach((share, index) => {
        for (const completion of share.completions) {
          if (answers[index]!(completion.held.position)) this.remove(completion.held);
          else missed.push(completion);
        }
      });
      return missed;
    } finally {
      for (const { bundle, last } of shares) if (bundle.answered(last)) this.#emptied.push(bundle.token);
    }
  }

  /** Moves a job from bundled to alone, in the database and here. Does nothing if the job is already alone. */
  async separate(held: HeldJob): Promise<void> {
    if (!this.isBundled(held)) return;
    await this.settler.unbundle({ tenant: held.job.tenant_id, id: held.job.id, token: held.leaseToken });
    this.#moveToAlone(held);
  }

  /** Marks a job as gone. A bundle goes with its last member. */
  remove(held: HeldJob): void {
    this.#alone.delete(held);
    held.bundle?.leave(held);
    if (held.bundle?.isEmpty) this.#bundles.delete(held.bundle);
  }

  async check(): Promise<void> {
    const now = performance.now();
    const extend = now - this.#extendedAt > (this.leaseSecs * 1000) / 3;
    if (extend) this.#extendedAt = now;
    const isDue = (since: number): boolean => extend || now - since > ASK_MS;
    try {
      await this.#checkBundles(isDue, extend);
      await this.#checkAlone(isDue, extend);
    } catch (error) {
      // The leases may expire before the database is back; then their jobs run again elsewhere, as they must.
      this.logger.debug({ err: error }, 'cannot keep leases alive');
      if (extend) this.#extendedAt = 0;
    }
  }

  async #checkBundles(isDue: (since: number) => boolean, extend: boolean): Promise<void> {
    const asked = [...this.#bundles].filter(([, since]) => isDue(since)).map(([bundle]) => bundle);
    if (asked.length === 0) return;
    const { keeper } = this;
    const isBundled = await (extend ? keeper.extendBundles(asked, this.leaseSecs) : keeper.standingBundles(asked));
    for (const bundle of asked)
      for (const member of bundle.members()) if (!isBundled(member)) this.#moveToAlone(member);
  }

  async #checkAlone(isDue: (since: number) => boolean, extend: boolean): Promise<void> {
    const asked = [...this.#alone].filter(([, since]) => isDue(since)).map(([held]) => held);
    if (asked.length === 0) return;
    const { keeper } = this;
    const keyOf = ({ job, leaseToken }: HeldJob) => ({ id: job.id, token: leaseToken });
    const keys = asked.map(keyOf);
    const stands = await (extend ? keeper.extend(keys, this.leaseSecs) : keeper.standing(keys));
    for (const held of asked) if (!stands(keyOf(held)) && this.#alone.has(held)) this.#lose(held);
  }

  #moveToAlone(held: HeldJob): void {
    if (!this.isBundled(held)) return;
    this.remove(held);
    this.#alone.set(held, performance.now());
  }
}

/** The part of one bundle that one statement completes. */
interface Share {
  readonly bundle: Bundle;
  readonly completions: readonly HeldCompletion[];
  readonly last: boolean;
}

function sharesOf(completions: readonly HeldCompletion[]): Share[] {
  const byBundle = groupBy(completions, ({ held }) => held.bundle!);
  return [...byBundle].map(([bundle, share]) => ({ bundle, completions: share, last: bundle.send(share.length) }));
}

const toBundleCompletions = ({ bundle, completions, last }: Share): BundleCompletions => ({
  token: bundle.token,
  tenant: bundle.tenant,
  size: bundle.size,
  positions: completions.map(({ held }) => held.position),
  results: completions.map(({ result }) => result),
  jobs: completions.map(({ held }) => held.job),
  last,
});
