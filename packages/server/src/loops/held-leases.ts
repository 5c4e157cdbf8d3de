import type { Logger } from 'pino';
import type { Bundle, HeldJob } from '../engine/leases/bundle.js';
import type { LeaseKeeper } from '../engine/leases/lease-keeper.js';

/**
 * What the pool holds, and the two things that keep it honest: leases are extended long before they run out, and anything held for
 * longer than a moment is asked after, so that a cancelled job is stopped and not merely ignored at its end.
 *
 * A job is held for itself or in a bundle. Whoever else takes it out of its bundle moves it to a lease of its own first (see the bundles
 * table), so what is missing there is looked for among the leases before it is given up.
 */
interface Held {
  readonly leased: HeldJob;
  readonly id: string;
  readonly token: string;
  readonly since: number;
}

const ASK_MS = 500;

export class HeldLeases {
  readonly #held = new Map<HeldJob, Held>();
  readonly #bundles = new Map<Bundle, number>();
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> | null = null;
  #extendedAt = performance.now();
  #lose: (leased: HeldJob) => void = () => undefined;

  constructor(
    private readonly keeper: LeaseKeeper,
    private readonly leaseSecs: number,
    private readonly logger: Logger,
  ) {}

  start(lose: (leased: HeldJob) => void): void {
    this.#lose = lose;
    this.#timer = setInterval(() => {
      this.#checking ??= this.check().finally(() => (this.#checking = null));
    }, ASK_MS);
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#checking;
  }

  add(leased: HeldJob): void {
    if (leased.bundle) this.#bundles.set(leased.bundle, performance.now());
    else this.#addAlone(leased);
  }

  /** It stands under a lease of its own now. */
  separate(leased: HeldJob): void {
    leased.bundle?.take(leased.place);
    this.#addAlone(leased);
  }

  /** A bundle goes with its last job. */
  remove(leased: HeldJob): void {
    this.#held.delete(leased);
    if (leased.bundle?.isEmpty) this.#bundles.delete(leased.bundle);
  }

  async check(): Promise<void> {
    const now = performance.now();
    const extend = now - this.#extendedAt > (this.leaseSecs * 1000) / 3;
    if (extend) this.#extendedAt = now;
    const isDue = (since: number): boolean => extend || now - since > ASK_MS;
    try {
      await this.#checkBundles(isDue, extend);
      await this.#checkLeases(isDue, extend);
    } catch (error) {
      // The leases may run out before the database is back; then their jobs run again elsewhere, as they must.
      this.logger.debug({ err: error }, 'cannot keep leases alive');
      if (extend) this.#extendedAt = 0;
    }
  }

  async #checkBundles(isDue: (since: number) => boolean, extend: boolean): Promise<void> {
    const asked = [...this.#bundles].filter(([, since]) => isDue(since)).map(([bundle]) => bundle);
    if (asked.length === 0) return;
    const { keeper } = this;
    const stands = await (extend ? keeper.extendBundles(asked, this.leaseSecs) : keeper.standingBundles(asked));
    for (const bundle of asked) {
      for (const leased of bundle.left()) if (!stands(bundle, leased.place)) this.separate(leased);
      if (bundle.isEmpty) this.#bundles.delete(bundle);
    }
  }

  async #checkLeases(isDue: (since: number) => boolean, extend: boolean): Promise<void> {
    const asked = [...this.#held.values()].filter(({ since }) => isDue(since));
    if (asked.length === 0) return;
    const { keeper } = this;
    const stands = await (extend ? keeper.extend(asked, this.leaseSecs) : keeper.standing(asked));
    for (const held of asked) if (!stands(held) && this.#held.has(held.leased)) this.#lose(held.leased);
  }

  #addAlone(leased: HeldJob): void {
    const { job, leaseToken } = leased;
    this.#held.set(leased, { leased, id: job.id, token: leaseToken, since: performance.now() });
  }
}
