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
const MAX_BATCHES = 20;
/** How long one sweep takes, before others come first. */
const SWEEP_MS = 250;
/** Of a queue with more priorities at a time, the lower ones come into line with the backlog. */
const MAX_PRIORITIES = 64;

export class TenantLines {
  /** Queues whose tenants take turns, as far as this process has heard; false: their lines are to be dissolved. */
  readonly #shared = new Map<string, boolean>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #working = new Map<string, Promise<boolean>>();
  #sweptLast = '';
  #stopped = false;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
  ) {
    hub.onAnyWork((queue, news) => {
      if (news !== null) this.#sortSoon(queue);
    });
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

  /**
   * Sorts what is in no line on any of the queues, or dissolves their lines: a batch of each, for so long. The next
   * call goes on where this one ended. Returns whether there is more to do.
   */
  async sweep(): Promise<boolean> {
    const queues = [...this.#shared.keys()];
    const first = queues.indexOf(this.#sweptLast) + 1;
    const until = performance.now() + SWEEP_MS;
    let more = false;
    for (const queue of [...queues.slice(first), ...queues.slice(0, first)]) {
      if (performance.now() > until) return true;
      // Whoever works on it goes on until nothing is left.
      if (!this.#working.has(queue)) more = (await this.#work(queue, 1)) || more;
      this.#sweptLast = queue;
    }
    return more;
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
      void this.#sortAll(queue).catch(() => undefined);
    }, GATHER_MS);
    this.#timers.set(queue, timer);
  }

  async #sortAll(queue: string): Promise<void> {
    if (await this.#work(queue, MAX_BATCHES)) this.#sortSoon(queue);
  }

  /** One at a time for each queue. Returns whether more is left than these batches. */
  async #work(queue: string, batches: number): Promise<boolean> {
    while (this.#working.has(queue)) await this.#working.get(queue)!.catch(() => undefined);
    const share = this.#shared.get(queue);
    if (share === undefined || this.#stopped) return false;
    const work = share ? this.#sort(queue, batches) : this.#dissolve(queue, batches);
    const ended = work.finally(() => this.#working.delete(queue));
    this.#working.set(queue, ended);
    return ended;
  }

  async #sort(queue: string, batches: number): Promise<boolean> {
    const statement = sql.sort_into_lines({ queue, max_jobs: SORT_BATCH, max_priorities: MAX_PRIORITIES });
    for (let batch = 0; batch < batches; batch++) {
      const [row] = await this.db.run<{ sorted: number }>(statement);
      if (this.#stopped || (row?.sorted ?? 0) < SORT_BATCH) return false;
    }
    return true;
  }

  async #dissolve(queue: string, batches: number): Promise<boolean> {
    let back = 0;
    for (let batch = 0; batch < batches && back === batch * SORT_BATCH; batch++) {
      const [row] = await this.db.run<{ back: number }>(sql.dissolve_lines({ queue, max_jobs: SORT_BATCH }));
      back += row?.back ?? 0;
      if (this.#stopped) return false;
    }
    const more = back === batches * SORT_BATCH;
    const [over] = more ? [] : await this.db.run(sql.end_turns({ queue }));
    if (over) this.know(queue, null);
    if (over || back > 0) this.hub.hear({ queues: new Map([[queue, []]]), events: false, crons: null });
    return more;
  }
}

/** For a claim of so many jobs: how many a tenant is given at its turn, and how many tenants that makes at most. */
export function turnsFor(wanted: number) {
  const atATime = turnOf(wanted);
  return { at_a_time: atATime, max_lines: Math.ceil(wanted / atATime) };
}
