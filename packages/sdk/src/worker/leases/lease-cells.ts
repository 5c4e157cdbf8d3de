/** A lease as the keeper knows it. */
export interface Lease {
  readonly cell: number;
  readonly generation: number;
  readonly jobId: string;
  readonly token: string;
}

/** Names are UUIDs; a cell has room for somewhat more. */
const NAME_BYTES = 64;
const HEADER_BYTES = 16;
const CELL_BYTES = 8 + 4 + 2 * NAME_BYTES;

/**
 * What the thread of the handlers and the keeper's thread share: one cell per held job, with everything that a
 * heartbeat needs. So holding a job and giving it up cost no message, a handler that blocks its thread keeps nothing
 * from the keeper, and `leased()` is right even then.
 *
 * A cell is used again for other jobs. Its generation tells them apart: it is raised when a job takes the cell and when
 * it leaves it, so it is odd exactly while the cell is taken. What is read between two looks at the same generation
 * belongs together.
 */
export class LeaseCells {
  readonly buffer: SharedArrayBuffer;
  /** When the handlers' thread was last seen at work, and when the keeper next looks at the cells by itself. */
  readonly #instants: BigInt64Array;
  /** When the lease expires, in microseconds of the monotonic clock. */
  readonly #deadlines: BigInt64Array;
  readonly #generations: Int32Array;
  readonly #names: Buffer;

  constructor(of: number | SharedArrayBuffer) {
    this.buffer = typeof of === 'number' ? new SharedArrayBuffer(HEADER_BYTES + of * CELL_BYTES) : of;
    const count = (this.buffer.byteLength - HEADER_BYTES) / CELL_BYTES;
    this.#instants = new BigInt64Array(this.buffer, 0, 2);
    this.#deadlines = new BigInt64Array(this.buffer, HEADER_BYTES, count);
    this.#generations = new Int32Array(this.buffer, HEADER_BYTES + 8 * count, count);
    this.#names = Buffer.from(this.buffer, HEADER_BYTES + 12 * count, count * 2 * NAME_BYTES);
    // Until the keeper has started, it has to be told of every lease.
    if (typeof of === 'number') this.planRound(null);
  }

  get count(): number {
    return this.#generations.length;
  }

  take(cell: number, deadlineMs: number, jobId: string, token: string): Lease {
    this.extend(cell, deadlineMs);
    this.#write(2 * cell, jobId);
    this.#write(2 * cell + 1, token);
    const generation = Atomics.add(this.#generations, cell, 1) + 1;
    return { cell, generation, jobId, token };
  }

  leave(cell: number): void {
    Atomics.add(this.#generations, cell, 1);
  }

  /** The lease in the cell; null if there is none, or another one is just being put there. */
  read(cell: number): Lease | null {
    const generation = Atomics.load(this.#generations, cell);
    if (generation % 2 === 0) return null;
    const lease = { cell, generation, jobId: this.#read(2 * cell), token: this.#read(2 * cell + 1) };
    return this.isTaken(cell, generation) ? lease : null;
  }

  isTaken(cell: number, generation: number): boolean {
    return Atomics.load(this.#generations, cell) === generation;
  }

  extend(cell: number, deadlineMs: number): void {
    Atomics.store(this.#deadlines, cell, micros(deadlineMs));
  }

  deadlineMs(cell: number): number {
    return Number(Atomics.load(this.#deadlines, cell)) / 1_000;
  }

  beatPulse(nowMs: number): void {
    Atomics.store(this.#instants, 0, micros(nowMs));
  }

  pulseMs(): number {
    return Number(Atomics.load(this.#instants, 0)) / 1_000;
  }

  /** `null`: the keeper is looking at the cells now, and has not yet planned the next time. */
  planRound(atMs: number | null): void {
    Atomics.store(this.#instants, 1, atMs === null ? UNPLANNED : micros(atMs));
  }

  /** Whether the keeper has planned to look at the cells by this instant. */
  isRoundPlannedBy(instantMs: number): boolean {
    return Atomics.load(this.#instants, 1) <= micros(instantMs);
  }

  #write(place: number, name: string): void {
    const at = place * NAME_BYTES;
    if (Buffer.byteLength(name) >= NAME_BYTES) throw new Error(`the server's id is too long: ${name}`);
    this.#names[at] = this.#names.write(name, at + 1);
  }

  #read(place: number): string {
    const at = place * NAME_BYTES + 1;
    return this.#names.toString('utf8', at, at + (this.#names[at - 1] ?? 0));
  }
}

const UNPLANNED = 2n ** 62n;

const micros = (ms: number): bigint => BigInt(Math.round(ms * 1_000));
