import type { OutboxDatabase } from '../store/outbox/outbox-database.js';
import type { Entry } from './entry-text.js';

/**
 * Takes entries from the outbox. Deleted entries lie in front of the live ones until they are vacuumed, which a long
 * transaction of the application can put off for hours, so a claim begins where the last one ended. But entries become
 * visible in the order of commits, not of their numbers: so it begins at the start whenever that is cheap, and at least
 * every five seconds.
 */
export const MOST_ENTRIES = 1_000;
const MOST_BYTES = 4 * 1024 * 1024;
/** After that, a relay that has not answered for its entries is taken for dead. Longer than any call. */
const HOLD_SECS = 30;

const MOST_BETWEEN_MS = 5_000;
/** Of all time, at most a tenth is spent on claims from the start. */
const SHARE = 10;

export class Claims {
  #floor = '0';
  #wholeDueAt = -Infinity;

  constructor(private readonly outbox: OutboxDatabase) {}

  /** When the next claim will begin at the start, on the clock of `performance`. */
  get wholeDueAt(): number {
    return this.#wholeDueAt;
  }

  async take(): Promise<Entry[]> {
    const startedAt = performance.now();
    const isWhole = startedAt >= this.#wholeDueAt;
    const entries = await this.outbox.run<Entry>('claim', {
      floor: isWhole ? '0' : this.#floor,
      hold_secs: HOLD_SECS,
      max_entries: MOST_ENTRIES,
      max_bytes: MOST_BYTES,
    });
    const endedAt = performance.now();
    if (isWhole) this.#wholeDueAt = endedAt + Math.min(MOST_BETWEEN_MS, SHARE * (endedAt - startedAt));
    entries.sort(bySeq);
    const last = entries.at(-1);
    if (last !== undefined) this.#floor = last.seq;
    return entries;
  }

  /** Entries were put back, which may lie before where the next claim would begin. */
  rewind(): void {
    this.#floor = '0';
    this.#wholeDueAt = -Infinity;
  }
}

/** Numbers without a sign, as text. */
const bySeq = ({ seq: a }: Entry, { seq: b }: Entry): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
