import type { Logger } from 'pino';
import type { LeaseKeeper } from '../engine/lease-keeper.js';
import type { LeasedJob } from '../engine/types.js';

/**
 * What the pool holds, and the two things that keep it honest: leases are extended long before they run out, and anything held for
 * longer than a second is asked after, so that a cancelled job is stopped and not merely ignored at its end.
 */
interface Held {
  readonly id: string;
  readonly token: string;
  readonly since: number;
}

const ASK_MS = 500;

export class Holdings {
  readonly #held = new Map<string, Held>();
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> | null = null;
  #extendedAt = performance.now();
  #lose: (token: string) => void = () => undefined;

  constructor(
    private readonly keeper: LeaseKeeper,
    private readonly leaseSecs: number,
    private readonly logger: Logger,
  ) {}

  start(lose: (token: string) => void): void {
    this.#lose = lose;
    this.#timer = setInterval(() => {
      this.#checking ??= this.check().finally(() => (this.#checking = null));
    }, ASK_MS);
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#checking;
  }

  add({ job, leaseToken }: LeasedJob): void {
    this.#held.set(leaseToken, { id: job.id, token: leaseToken, since: performance.now() });
  }

  remove({ leaseToken }: LeasedJob): void {
    this.#held.delete(leaseToken);
  }

  async check(): Promise<void> {
    const now = performance.now();
    const extend = now - this.#extendedAt > (this.leaseSecs * 1000) / 3;
    const asked = [...this.#held.values()].filter((held) => extend || now - held.since > ASK_MS);
    if (extend) this.#extendedAt = now;
    if (asked.length === 0) return;
    try {
      const standing = extend ? await this.keeper.extend(asked, this.leaseSecs) : await this.keeper.standing(asked);
      for (const { token } of asked) if (!standing.has(token) && this.#held.has(token)) this.#lose(token);
    } catch (error) {
      // The leases may run out before the database is back; then their jobs run again elsewhere, as they must.
      this.logger.debug({ err: error }, 'cannot keep leases alive');
      if (extend) this.#extendedAt = 0;
    }
  }
}
