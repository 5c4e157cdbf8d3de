import { turnOf } from '../../domain/shares.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';

/**
 * The lines of tenants on queues where they take turns. Jobs come into such a queue as into any other, whoever creates
 * them; a moment later whoever hears of it sorts them into lines. What a process that dies leaves unsorted is found by
 * a sweep, and is served meanwhile: those who are in no line have a turn as well, as one group.
 */
const sql = loadStatements('leases/shares.sql');

/** A worker that waits takes a job before it is sorted; and jobs that come one by one are sorted together. */
const GATHER_MS = 20;
const SORT_BATCH = 1_000;
/** Then others come first: the sweep has more to do, and the rest has time. */
const MAX_BATCHES = 20;
/** Of a queue with more priorities at a time, the lower ones come into line with the backlog. */
const MAX_PRIORITIES = 64;

export class TenantLines {
  /** Queues whose tenants take turns, as far as this process has heard; false: their lines are to be dissolved. */
  readonly #shared = new Map<string, boolean>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #working = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
  ) {
    hub.onAnyWork((queue) => this.#sortSoon(queue));
  }

  isShared(queue: string): boolean {
    return this.#shared.has(queue);
  }

  /** Null: its tenants do not take turns. */
  know(queue: string, share: boolean | null): void {
    if (share === null) this.#shared.delete(queue);
    else this.#shared.set(queue, share);
  }

  /** How many of its tenant are before a job; null: it is in no line. */
  async placeOf(tenant: string, id: string, maxJobs: number): Promise<number | null> {
    const [row] = await this.db.run<{ ahead: number }>(sql.place_in_turn({ tenant, id, max_jobs: maxJobs }));
    return row?.ahead ?? null;
  }

  /** Sorts what is in no line on any of the queues, or dissolves their lines. */
  async sweep(): Promise<void> {
    for (const queue of this.#shared.keys()) await this.#work(queue);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    await Promise.allSettled(this.#working.values());
  }

  #sortSoon(queue: string): void {
    if (this.#shared.get(queue) !== true || this.#timers.has(queue) || this.#stopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(queue);
      // What cannot be sorted now is found by the sweep, which reports what is wrong.
      void this.#work(queue).catch(() => undefined);
    }, GATHER_MS);
    this.#timers.set(queue, timer);
  }

  /** One at a time for each queue. */
  async #work(queue: string): Promise<void> {
    while (this.#working.has(queue)) await this.#working.get(queue)!.catch(() => undefined);
    const share = this.#shared.get(queue);
    if (share === undefined || this.#stopped) return;
    const work = (share ? this.#sort(queue) : this.#dissolve(queue)).finally(() => this.#working.delete(queue));
    this.#working.set(queue, work);
    await work;
  }

  async #sort(queue: string): Promise<void> {
    const statement = sql.sort_into_lines({ queue, max_jobs: SORT_BATCH, max_priorities: MAX_PRIORITIES });
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const [row] = await this.db.run<{ sorted: number }>(statement);
      if (this.#stopped || (row?.sorted ?? 0) < SORT_BATCH) return;
    }
    this.#sortSoon(queue);
  }

  async #dissolve(queue: string): Promise<void> {
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const [row] = await this.db.run<{ back: number }>(sql.dissolve_lines({ queue, max_jobs: SORT_BATCH }));
      if (this.#stopped) return;
      if ((row?.back ?? 0) < SORT_BATCH) break;
    }
    await this.db.run(sql.drop_dissolved({ queue }));
    this.hub.hear({ queues: new Map([[queue, []]]), events: false, crons: null });
  }
}

/** For a claim of so many jobs: how many a tenant is given at its turn, and how many tenants that makes at most. */
export function turnsFor(wanted: number) {
  const atATime = turnOf(wanted);
  return { at_a_time: atATime, max_lines: Math.ceil(wanted / atATime) };
}
