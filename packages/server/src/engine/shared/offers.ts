import type { Instant } from '../../domain/records.js';
import { float8Array, int4Array, jsonArray, textArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { Flusher, FLUSH_MS, IDLE_MS } from './flusher.js';

/**
 * What workers say when they ask for jobs: how many they can hold at a time, and which tasks they know. Noted in memory
 * at every lease call, and written to the database so that other processes know. Nothing depends on it but what people
 * are told. Bounded in number and in bytes: what was not heard of for longest goes first.
 */
const sql = loadStatements('shared/presence.sql');

/** Whoever has not asked for this long counts as gone: a worker that waits asks twice a minute. */
export const OFFER_SECS = 60;
/** What another process heard of a worker may be written so much later. */
export const BEHIND_SECS = (IDLE_MS + FLUSH_MS) / 1000;
/** Whoever has asked since then is remembered. */
const REMEMBERED_SECS = 600;
const MAX_OFFERS = 5_000;
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_PER_FLUSH = 1_000;
const MAX_BYTES_PER_FLUSH = 1024 * 1024;
/** How many workers of a queue are read. */
const MAX_READ = 1_000;

/** Of one worker on one queue. */
export interface Offer {
  readonly queue: string;
  /** Empty for everybody who names no tasks. */
  readonly worker: string;
  readonly slots: number | null;
  /** Null: it did not say. */
  readonly tasks: readonly string[] | null;
}

/** When it was made, too. */
export interface SeenOffer extends Offer {
  readonly lastSeenAt: Instant;
}

interface Noted extends Offer {
  readonly tasksText: string | null;
  seenAt: number;
  /** The same by the database's clock, once somebody has asked: asked again, it is the same instant. */
  instant: Instant | null;
  writtenAt: number;
}

interface OfferRow {
  readonly queue: string;
  readonly worker: string;
  readonly slots: number | null;
  readonly tasks: string | null;
  readonly seen_at: string;
  readonly age_secs: number;
}

/** A process writes what it heard, by a clock that may be a little ahead of its own. */
const CLOCKS_APART_SECS = 1;

export class Offers {
  /** The one that was heard of last comes last. */
  readonly #noted = new Map<string, Noted>();
  readonly #unwritten = new Set<string>();
  readonly #flusher: Flusher;
  #bytes = 0;

  constructor(
    private readonly db: Database,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#flusher = new Flusher(
      () => this.#flush(),
      () => this.#unwritten.size === 0,
      now,
    );
  }

  /** A worker that gives no name could not be told from the next one: it counts as one that names no tasks. */
  note(queue: string, worker: string | null, slots: number | null, tasks: readonly string[] | null): void {
    if (worker === null && (slots !== null || tasks !== null)) return this.note(queue, null, null, null);
    const name = slots === null && tasks === null ? '' : worker!;
    const key = keyOf(queue, name);
    const tasksText = tasks && JSON.stringify(tasks);
    const known = this.#noted.get(key);
    const isSame = known?.slots === slots && known.tasksText === tasksText;
    const noted = isSame ? known : { queue, worker: name, slots, tasks, tasksText, ...NEVER };
    noted.seenAt = this.now();
    noted.instant = null;
    if (known) this.#forget(key, known);
    this.#noted.set(key, noted);
    this.#bytes += sizeOf(noted);
    for (const [oldest, offer] of this.#noted) {
      if (this.#noted.size <= MAX_OFFERS && this.#bytes <= MAX_BYTES) break;
      this.#forget(oldest, offer);
    }
    if (noted.seenAt - noted.writtenAt < IDLE_MS) return;
    this.#unwritten.add(key);
    this.#flusher.arm();
  }

  /** Who asked for jobs of a queue lately, here or elsewhere. */
  async of(tenant: string, queue: string): Promise<readonly Offer[]> {
    const statement = sql.offers_of({ queue, max_secs: OFFER_SECS + BEHIND_SECS, max_workers: MAX_READ });
    const rows = await this.db.read<OfferRow>({ tenant, statement });
    const since = this.now() - OFFER_SECS * 1000;
    const own = [...this.#noted.values()].filter((offer) => offer.queue === queue && offer.seenAt >= since);
    return [...rows.filter((row) => this.#isFromElsewhere(row)).map(toOffer), ...own];
  }

  /**
   * Everybody who gave a name and has asked for jobs within ten minutes, here or elsewhere; `nowMs` is what the clock
   * of the database said at some moment after `askedAt`.
   */
  async lately(tenant: string, nowMs: number, askedAt: number): Promise<readonly SeenOffer[]> {
    const statement = sql.offers_lately({ max_secs: REMEMBERED_SECS, max_workers: MAX_READ });
    const rows = await this.db.read<OfferRow>({ tenant, statement });
    const since = this.now() - REMEMBERED_SECS * 1000;
    const own = [...this.#noted.values()].filter(({ worker, seenAt }) => worker !== '' && seenAt >= since);
    for (const each of own) each.instant ??= new Date(nowMs - Math.max(0, askedAt - each.seenAt)).toISOString();
    return [
      ...rows
        .filter((row) => this.#isFromElsewhere(row))
        .map((row) => ({ ...toOffer(row), lastSeenAt: toInstant(row.seen_at) })),
      ...own.map(({ queue, worker, slots, tasks, instant }) => ({ queue, worker, slots, tasks, lastSeenAt: instant! })),
    ];
  }

  /** Another process has heard of the worker since this one did, if this one ever did. */
  #isFromElsewhere({ queue, worker, age_secs: age }: OfferRow): boolean {
    const heard = this.#noted.get(keyOf(queue, worker));
    return heard === undefined || (this.now() - heard.seenAt) / 1000 > age + CLOCKS_APART_SECS;
  }

  stop(): Promise<void> {
    return this.#flusher.stop();
  }

  #forget(key: string, offer: Noted): void {
    this.#noted.delete(key);
    this.#bytes -= sizeOf(offer);
  }

  async #flush(): Promise<void> {
    const now = this.now();
    const offers: Noted[] = [];
    let bytes = 0;
    for (const key of this.#unwritten) {
      const offer = this.#noted.get(key);
      if (offers.length >= MAX_PER_FLUSH || bytes > MAX_BYTES_PER_FLUSH) break;
      this.#unwritten.delete(key);
      if (!offer) continue;
      offers.push(offer);
      bytes += sizeOf(offer);
    }
    for (const offer of offers) offer.writtenAt = now;
    const statement = sql.note_offers({
      queues: textArray(offers.map(({ queue }) => queue)),
      workers: textArray(offers.map(({ worker }) => worker)),
      slots: int4Array(offers.map(({ slots }) => slots)),
      tasks: jsonArray(offers.map(({ tasksText }) => tasksText)),
      ages_secs: float8Array(offers.map(({ seenAt }) => (now - seenAt) / 1000)),
    });
    await this.db.run(statement).catch(() => {
      for (const offer of offers) offer.writtenAt = -Infinity;
    });
  }
}

const NEVER = { seenAt: 0, writtenAt: -Infinity, instant: null } as const;

const toOffer = ({ queue, worker, slots, tasks }: OfferRow): Offer => ({
  queue,
  worker,
  slots,
  tasks: readTasks(tasks),
});

const keyOf = (queue: string, worker: string): string => `${queue}\0${worker}`;
const sizeOf = ({ queue, worker, tasksText }: Noted): number =>
  queue.length + worker.length + 2 * (tasksText?.length ?? 0) + 200;

const readTasks = (text: string | null): readonly string[] | null =>
  text === null ? null : (JSON.parse(text) as string[]);
