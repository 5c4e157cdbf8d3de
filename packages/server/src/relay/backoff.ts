import type { Logger } from 'pino';

/**
 * Pauses while the service or the database is away: they grow from a quarter of a second to half a minute, and end with
 * the first thing that works. An outage is logged once when it begins and once when it is over.
 */
const FIRST_MS = 250;
const LONGEST_MS = 30_000;

type Side = 'service' | 'database';

export class Backoff {
  readonly #away = new Map<Side, number>();
  #until = 0;
  #timer: NodeJS.Timeout | null = null;
  #resume: (() => void) | null = null;
  #ended = false;

  constructor(private readonly logger: Logger) {}

  get inForce(): boolean {
    return this.#away.size > 0;
  }

  /** `atLeastMs`: what the service asked for. */
  begin(side: Side, reason: string, atLeastMs: number): void {
    const failures = (this.#away.get(side) ?? 0) + 1;
    if (failures === 1) this.logger.warn({ reason }, `the ${side} is away; entries wait`);
    this.#away.set(side, failures);
    const grown = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));
    // Several relays would otherwise come back all at once.
    const pause = Math.min(LONGEST_MS, Math.max(grown * (0.75 + Math.random() / 2), atLeastMs));
    this.#until = Math.max(this.#until, performance.now() + pause);
  }

  worked(side: Side): void {
    if (!this.#away.delete(side)) return;
    this.logger.info(`the ${side} is back`);
    if (this.#away.size === 0) this.#until = 0;
  }

  /** Resolves when no pause is left. */
  async over(): Promise<void> {
    for (let left = this.#until - performance.now(); left > 0 && !this.#ended; left = this.#until - performance.now()) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
        this.#timer = setTimeout(resolve, left);
      });
    }
  }

  /** No pause any more. */
  end(): void {
    this.#ended = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#resume?.();
  }
}
