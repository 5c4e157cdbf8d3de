/**
 * What the thread of the handlers and the keeper's thread share: one cell per held job. A message from the keeper waits
 * while a handler blocks its thread; a cell can be read at once, so `leased()` is right even then, and giving a job up
 * costs no message.
 *
 * A cell is used again for other jobs. Its generation tells them apart: it is raised when a job takes the cell and when
 * it leaves it, so it is odd exactly while the cell is taken, and a keeper that remembers another number forgets the
 * job.
 */
export class LeaseCells {
  readonly buffer: SharedArrayBuffer;
  /** When the lease expires, in microseconds of the monotonic clock. */
  readonly #deadlines: BigInt64Array;
  readonly #generations: Int32Array;
  /** When the handlers' thread was last seen at work. */
  readonly #pulse: BigInt64Array;

  constructor(of: number | SharedArrayBuffer) {
    this.buffer = typeof of === 'number' ? new SharedArrayBuffer(8 + of * 12) : of;
    const count = (this.buffer.byteLength - 8) / 12;
    this.#pulse = new BigInt64Array(this.buffer, 0, 1);
    this.#deadlines = new BigInt64Array(this.buffer, 8, count);
    this.#generations = new Int32Array(this.buffer, 8 + 8 * count, count);
  }

  get count(): number {
    return this.#generations.length;
  }

  /** The generation under which the cell is now taken. */
  take(cell: number, deadlineMs: number): number {
    this.extend(cell, deadlineMs);
    return Atomics.add(this.#generations, cell, 1) + 1;
  }

  leave(cell: number): void {
    Atomics.add(this.#generations, cell, 1);
  }

  isTaken(cell: number, generation: number): boolean {
    return Atomics.load(this.#generations, cell) === generation;
  }

  extend(cell: number, deadlineMs: number): void {
    Atomics.store(this.#deadlines, cell, BigInt(Math.round(deadlineMs * 1_000)));
  }

  deadlineMs(cell: number): number {
    return Number(Atomics.load(this.#deadlines, cell)) / 1_000;
  }

  beatPulse(nowMs: number): void {
    Atomics.store(this.#pulse, 0, BigInt(Math.round(nowMs * 1_000)));
  }

  pulseMs(): number {
    return Number(Atomics.load(this.#pulse, 0)) / 1_000;
  }
}
