import type { RunningJob } from '../task-types.js';
import type { JsonObject } from '../json.js';
import { monotonicMs } from './clock.js';
import type { Lease } from './beat-loop.js';
import { LeaseCells } from './lease-cells.js';
import type { StopSwitch } from './stop-switch.js';

/** A job from its claim until its report is answered or it is lost. */
export interface HeldJob {
  readonly lease: Lease;
  readonly job: RunningJob;
  readonly payload: JsonObject;
  readonly timeoutMs: number;
  /** Thrown when the handler is to stop; the reason says why. */
  readonly stop: StopSwitch;
  readonly startedAt: number;
  /** Whether its outcome is on the way to the server: from then on only the reporter decides. */
  reporting: boolean;
}

/** Every job that this worker holds, and the cells through which the keeper knows them. */
export class HeldJobs {
  readonly cells: LeaseCells;
  readonly #byCell = new Map<number, HeldJob>();
  readonly #free: number[];

  constructor(capacity: number) {
    this.cells = new LeaseCells(capacity);
    this.#free = Array.from({ length: capacity }, (_, index) => capacity - 1 - index);
  }

  get size(): number {
    return this.#byCell.size;
  }

  /** Whether there is room for one more. */
  get isFull(): boolean {
    return this.#free.length === 0;
  }

  [Symbol.iterator](): IterableIterator<HeldJob> {
    return this.#byCell.values();
  }

  add(fields: Omit<HeldJob, 'lease'> & { readonly token: string; readonly deadlineMs: number }): HeldJob {
    const cell = this.#free.pop();
    if (cell === undefined) throw new Error('more jobs are held than there are cells');
    const { token, deadlineMs, ...rest } = fields;
    const generation = this.cells.take(cell, deadlineMs);
    const held = { ...rest, lease: { cell, generation, jobId: rest.job.id, token } };
    this.#byCell.set(cell, held);
    return held;
  }

  /** The job that a lease belongs to, unless it has been let go. */
  find({ cell, generation }: Lease): HeldJob | undefined {
    const held = this.#byCell.get(cell);
    return held?.lease.generation === generation ? held : undefined;
  }

  has(held: HeldJob): boolean {
    return this.#byCell.get(held.lease.cell) === held;
  }

  /** The keeper forgets it. */
  letGo(held: HeldJob): void {
    if (!this.has(held)) return;
    this.#byCell.delete(held.lease.cell);
    this.cells.leave(held.lease.cell);
    this.#free.push(held.lease.cell);
  }

  deadlineMs({ lease }: HeldJob): number {
    return this.cells.deadlineMs(lease.cell);
  }

  /** Whether the lease is still held, by this process's own reckoning. */
  isLeased(held: HeldJob): boolean {
    return this.has(held) && held.stop.reason === undefined && monotonicMs() < this.deadlineMs(held);
  }
}
