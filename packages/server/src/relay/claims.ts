import type { OutboxDatabase } from '../store/outbox/outbox-database.js';

/**
 * Takes entries from the outbox. Deleted entries and claims lie in front of the live ones until they are vacuumed,
 * which a long transaction of the application can put off for hours, so a claim begins where the last one ended. But
 * entries become visible in the order of commits, not of their numbers: so it begins at the start whenever that is
 * cheap, and at least every five seconds.
 */
export const MOST_ENTRIES = 1_000;
const MOST_BYTES = 4 * 1024 * 1024;
/** After that, a relay that has not answered for its entries is taken for dead. Longer than any call. */
const HOLD_SECS = 30;

const MOST_BETWEEN_MS = 5_000;
/** Of all time, at most a tenth is spent on claims from the start. */
const SHARE = 10;

/** Entries that are ours until we say what became of them. */
export interface EntryClaim {
  /** A bigint as text, as all numbers of the outbox. */
  readonly id: string;
  readonly entries: number;
}

interface ClaimRow {
  readonly claim: string;
  readonly entries: number;
  readonly last: string;
  readonly oldest: string;
}

const START = { seq: '0', claim: '0' } as const;

export class Claims {
  #from: { readonly seq: string; readonly claim: string } = START;
  #wholeDueAt = -Infinity;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly outbox: OutboxDatabase) {}

  /** When the next claim will begin at the start, on the clock of `performance`. */
  get wholeDueAt(): number {
    return this.#wholeDueAt;
  }

  /** Null: nothing is free. One at a time: the database lets one claim in after another anyway. */
  take(): Promise<EntryClaim | null> {
    const taken = this.#last.then(() => this.#claim());
    this.#last = taken.catch(() => undefined);
    return taken;
  }

  async #claim(): Promise<EntryClaim | null> {
    const startedAt = performance.now();
    const isWhole = startedAt >= this.#wholeDueAt;
    const { seq, claim } = isWhole ? START : this.#from;
    const [row] = await this.outbox.run<ClaimRow>('claim', {
      from_seq: seq,
      from_claim: claim,
      hold_secs: HOLD_SECS,
      max_entries: MOST_ENTRIES,
      max_bytes: MOST_BYTES,
    });
    const endedAt = performance.now();
    if (isWhole) this.#wholeDueAt = endedAt + Math.min(MOST_BETWEEN_MS, SHARE * (endedAt - startedAt));
    if (row === undefined) return null;
    this.#from = { seq: row.last, claim: row.oldest };
    return { id: row.claim, entries: row.entries };
  }

  /** Entries were put back, which may lie before where the next claim would begin. */
  rewind(): void {
    this.#from = START;
    this.#wholeDueAt = -Infinity;
  }
}
