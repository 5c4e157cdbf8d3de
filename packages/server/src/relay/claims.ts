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
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly outbox: OutboxDatabase) {}

  /** When the next claim will begin at the start, on the clock of `performance`. */
  get wholeDueAt(): number {
    return this.#wholeDueAt;
  }

  /** One at a time: claims side by side would walk over what each other has locked, which costs more than they win. */
  take(): Promise<Entry[]> {
    const taken = this.#last.then(() => this.#claim());
    this.#last = taken.catch(() => undefined);
    return taken;
  }

  async #claim(): Promise<Entry[]> {
    const startedAt = performance.now();
    const isWhole = startedAt >= this.#wholeDueAt;
    const rows = await this.outbox.texts('claim', {
      floor: isWhole ? '0' : this.#floor,
      hold_secs: HOLD_SECS,
      max_entries: MOST_ENTRIES,
      max_bytes: MOST_BYTES,
    });
    const entries = rows.map(entryOf);
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

/** The columns of `claim`, in their order. */
const entryOf = ([seq, key, task, payload, queue, config, metadata, runAt, triedSecs]: (string | null)[]): Entry => ({
  seq: seq!,
  key: key!,
  task: task!,
  payload: payload!,
  queue: queue!,
  config: config!,
  metadata: metadata!,
  runAt: runAt!,
  triedSecs: triedSecs === null ? 0 : Number(triedSecs),
});

/** Numbers without a sign, as text. */
const bySeq = ({ seq: a }: Entry, { seq: b }: Entry): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
