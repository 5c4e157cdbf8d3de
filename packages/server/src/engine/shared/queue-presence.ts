import { float8Array, textArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { toInstant, toInstantOrNull } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { Instant } from '../../domain/records.js';
import { Flusher, FLUSH_MS, IDLE_MS } from './flusher.js';

/**
 * When workers last asked for jobs of each queue: what tells a queue that nobody works on from one that is merely
 * long. Noted in memory at every claim and long poll, and written to the database so that other processes know.
 *
 * One statement in FLUSH_MS at most, for at most MAX_PER_FLUSH queues; a queue on which polls only wait is written
 * once in IDLE_MS, so that an idle service stays idle. Nothing depends on it but what people are told.
 */
const sql = loadStatements('shared/presence.sql');

const MAX_PER_FLUSH = 1_000;
const MAX_REMEMBERED = 10_000;

interface Mark {
  seenAt: number;
  /** The same by the database's clock, once somebody has asked: asked again, it is the same instant. */
  instant: Instant | null;
  writtenAt: number;
}

export class QueuePresence {
  /** In the order of when they were first seen. */
  readonly #marks = new Map<string, Mark>();
  readonly #unwritten = new Set<string>();
  readonly #flusher: Flusher;

  constructor(
    private readonly execute: Execute,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#flusher = new Flusher(
      () => this.#flush(),
      () => this.#unwritten.size === 0,
      now,
    );
  }

  /** `found`: it got jobs, so the queue is at work anyhow. */
  seen(queue: string, found: boolean): void {
    const seenAt = this.now();
    const mark = this.#marks.get(queue) ?? this.#remember(queue);
    mark.seenAt = seenAt;
    mark.instant = null;
    if (seenAt - mark.writtenAt < (found ? FLUSH_MS : IDLE_MS)) return;
    this.#unwritten.add(queue);
    this.#flusher.arm();
  }

  /** The later of when somebody asked this process and what is written, both by the database's clock. */
  lastLease(
    queue: string,
    { now, last_lease_at: written }: { readonly now: string; readonly last_lease_at: string | null },
  ): Instant | null {
    const stored = toInstantOrNull(written);
    const mark = this.#marks.get(queue);
    if (mark === undefined) return stored;
    mark.instant ??= new Date(Date.parse(toInstant(now)) - (this.now() - mark.seenAt)).toISOString();
    return stored !== null && Date.parse(stored) > Date.parse(mark.instant) ? stored : mark.instant;
  }

  stop(): Promise<void> {
    return this.#flusher.stop();
  }

  #remember(queue: string): Mark {
    if (this.#marks.size >= MAX_REMEMBERED) {
      const [oldest] = this.#marks.keys();
      if (oldest !== undefined) this.#marks.delete(oldest);
    }
    const mark = { seenAt: 0, instant: null, writtenAt: -Infinity };
    this.#marks.set(queue, mark);
    return mark;
  }

  async #flush(): Promise<void> {
    const now = this.now();
    const queues = [...this.#unwritten].slice(0, MAX_PER_FLUSH);
    for (const queue of queues) this.#unwritten.delete(queue);
    const known = queues.filter((queue) => this.#marks.has(queue));
    const ages = known.map((queue) => (now - this.#marks.get(queue)!.seenAt) / 1000);
    for (const queue of known) this.#marks.get(queue)!.writtenAt = now;
    // What could not be written is written after the next call.
    await this.execute(sql.note_queues({ queues: textArray(known), ages_secs: float8Array(ages) })).catch(() => {
      for (const queue of known) this.#forgetWriting(queue);
    });
  }

  #forgetWriting(queue: string): void {
    const mark = this.#marks.get(queue);
    if (mark) mark.writtenAt = -Infinity;
  }
}
