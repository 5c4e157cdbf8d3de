import { busy } from '../failures.js';
import { ReadPace, type ReadKind } from './read-pace.js';

/**
 * Decides whose read goes next. A read costs as much as it finds: a count of millions takes seconds, and a tenant that
 * asks for many of them would occupy every connection. So each tenant gets at most half of the connections (rounded
 * up), counts leave one for pages, and tenants take turns. Who has read much that is costly rests for a while
 * (read-pace.ts). The number of waiting reads and the time each may wait are bounded.
 *
 * Invariants: no read waits that could run; at most `slots` reads run, at most `perTenant` of them for one tenant; at
 * most one count runs per tenant, and counts together leave one slot free (if there is more than one); while a read
 * waits because its tenant rests, and for nothing else, a timer is set.
 */
export interface ReadTurnsOptions {
  /** How many connections reads may use. */
  readonly slots: number;
  readonly waitMs?: number;
  readonly pace?: ReadPace;
}

export type EndTurn = () => void;

const WAIT_MS = 5_000;
const MAX_WAITING_PER_TENANT = 100;
const MAX_WAITING = 1_000;

interface Waiter {
  readonly kind: ReadKind;
  readonly start: () => void;
}

interface TenantReads {
  readonly name: string;
  running: number;
  counting: number;
  readonly waiting: Waiter[];
}

export class ReadTurns {
  readonly #slots: number;
  readonly #perTenant: number;
  readonly #countSlots: number;
  readonly #waitMs: number;
  readonly #pace: ReadPace;
  /** In the order of their turns: the tenant served most recently comes last. */
  readonly #tenants = new Map<string, TenantReads>();
  #running = 0;
  #counting = 0;
  #waiting = 0;
  #rested: NodeJS.Timeout | null = null;

  constructor({ slots, waitMs = WAIT_MS, pace = new ReadPace() }: ReadTurnsOptions) {
    this.#slots = slots;
    this.#perTenant = Math.max(1, Math.ceil(slots / 2));
    this.#countSlots = Math.max(1, slots - 1);
    this.#waitMs = waitMs;
    this.#pace = pace;
  }

  get waiting(): number {
    return this.#waiting;
  }

  async take(tenant: string, kind: ReadKind): Promise<EndTurn> {
    const reads = this.#readsOf(tenant);
    if (this.#fits(reads, kind)) return this.#begin(reads, kind);
    if (this.#waiting >= MAX_WAITING) throw busy('too many reads are waiting');
    if (reads.waiting.length >= MAX_WAITING_PER_TENANT) throw busy('too many reads of this tenant are waiting');
    return this.#wait(reads, kind);
  }

  #wait(reads: TenantReads, kind: ReadKind): Promise<EndTurn> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#leave(reads, waiter);
        reject(busy(`this read could not start within ${this.#waitMs / 1000} s, because others take too long`));
      }, this.#waitMs);
      const waiter: Waiter = {
        kind,
        start: () => {
          clearTimeout(timer);
          this.#leave(reads, waiter);
          resolve(this.#begin(reads, kind));
        },
      };
      reads.waiting.push(waiter);
      this.#waiting++;
      this.#wakeWhenRested();
    });
  }

  #readsOf(name: string): TenantReads {
    let reads = this.#tenants.get(name);
    if (!reads) this.#tenants.set(name, (reads = { name, running: 0, counting: 0, waiting: [] }));
    return reads;
  }

  #fits(reads: TenantReads, kind: ReadKind): boolean {
    return this.#hasSlot(reads, kind) && this.#pace.waitMs(reads.name, kind) === 0;
  }

  #hasSlot(reads: TenantReads, kind: ReadKind): boolean {
    if (this.#running >= this.#slots || reads.running >= this.#perTenant) return false;
    return kind === 'page' || (reads.counting === 0 && this.#counting < this.#countSlots);
  }

  #begin(reads: TenantReads, kind: ReadKind): EndTurn {
    this.#add(reads, kind, 1);
    this.#tenants.delete(reads.name);
    this.#tenants.set(reads.name, reads);
    return () => {
      this.#add(reads, kind, -1);
      this.#startWaiting();
      this.#forgetIfIdle(reads);
    };
  }

  #add(reads: TenantReads, kind: ReadKind, n: 1 | -1): void {
    this.#running += n;
    reads.running += n;
    if (kind === 'page') return;
    this.#counting += n;
    reads.counting += n;
  }

  #startWaiting(): void {
    for (let waiter = this.#next(); waiter !== null; waiter = this.#next()) waiter.start();
    this.#wakeWhenRested();
  }

  /** The end of a turn wakes those who wait for one, but nothing else ends a rest. */
  #wakeWhenRested(): void {
    if (this.#rested) clearTimeout(this.#rested);
    this.#rested = null;
    if (this.#waiting === 0 || this.#running >= this.#slots) return;
    let soonest = Infinity;
    for (const reads of this.#tenants.values()) {
      for (const { kind } of reads.waiting) {
        if (this.#hasSlot(reads, kind)) soonest = Math.min(soonest, this.#pace.waitMs(reads.name, kind));
      }
    }
    if (soonest < Infinity) this.#rested = setTimeout(() => this.#startWaiting(), Math.ceil(soonest)).unref();
  }

  #next(): Waiter | null {
    if (this.#waiting === 0 || this.#running >= this.#slots) return null;
    for (const reads of this.#tenants.values()) {
      const waiter = reads.waiting.find(({ kind }) => this.#fits(reads, kind));
      if (waiter) return waiter;
    }
    return null;
  }

  #leave(reads: TenantReads, waiter: Waiter): void {
    reads.waiting.splice(reads.waiting.indexOf(waiter), 1);
    this.#waiting--;
    this.#forgetIfIdle(reads);
  }

  #forgetIfIdle(reads: TenantReads): void {
    if (reads.running === 0 && reads.waiting.length === 0) this.#tenants.delete(reads.name);
  }
}
