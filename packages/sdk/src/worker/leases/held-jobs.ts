import type { RunningJob } from '../../task/types.js';
import type { JsonObject } from '../../json/object.js';
import type { JobConfig } from '../../wire/index.js';
import { monotonicMs } from '../clock.js';
import { LeaseCells, type Lease } from './lease-cells.js';
import type { Slots } from './slots.js';
import { StopSwitch } from './stop-switch.js';

/** What decides whether and when a failed attempt is repeated. */
export type RetryRule = Pick<JobConfig, 'max_retries' | 'retry_backoff' | 'retry_delay_secs' | 'retry_max_delay_secs'>;

/** A job from its claim until its report is answered or it is lost. */
export class HeldJob {
  /** Thrown when the handler is to stop; the reason says why. */
  readonly stop = new StopSwitch();
  readonly startedAt = monotonicMs();
  /** Whether its outcome is on the way to the server: from then on only the reporter decides. */
  reporting = false;
  /** How long the attempt took, once it is being reported. */
  tookMs = 0;

  constructor(
    readonly lease: Lease,
    readonly job: RunningJob,
    readonly payload: JsonObject,
    readonly timeoutMs: number,
    readonly slots: Slots,
    /** When the attempt began, by the server's clock. */
    readonly serverStartedAt: string,
    readonly retryRule: RetryRule,
  ) {}
}

/** What a job is held with. */
export interface Claim {
  readonly job: RunningJob;
  readonly payload: JsonObject;
  readonly timeoutMs: number;
  readonly slots: Slots;
  readonly token: string;
  readonly deadlineMs: number;
  readonly startedAt: string;
  readonly retryRule: RetryRule;
}

/** Every job that this worker holds, and the cells through which the keeper knows them. */
export class HeldJobs {
  readonly cells: LeaseCells;
  readonly #byCell: (HeldJob | undefined)[];
  readonly #free: number[];

  constructor(capacity: number) {
    this.cells = new LeaseCells(capacity);
    this.#byCell = new Array<HeldJob | undefined>(capacity).fill(undefined);
    this.#free = Array.from({ length: capacity }, (_, index) => capacity - 1 - index);
  }

  get size(): number {
    return this.#byCell.length - this.#free.length;
  }

  /** From here on the keeper keeps its lease alive. */
  hold({ job, payload, timeoutMs, slots, token, deadlineMs, startedAt, retryRule }: Claim): HeldJob {
    const cell = this.#free.at(-1);
    if (cell === undefined) throw new Error('more jobs are held than there are cells');
    const lease = this.cells.take(cell, deadlineMs, job.id, token);
    this.#free.pop();
    return (this.#byCell[cell] = new HeldJob(lease, job, payload, timeoutMs, slots, startedAt, retryRule));
  }

  /** The job that a lease belongs to, unless it has been let go. */
  find({ cell, generation }: Lease): HeldJob | undefined {
    const held = this.#byCell[cell];
    return held?.lease.generation === generation ? held : undefined;
  }

  has(held: HeldJob): boolean {
    return this.#byCell[held.lease.cell] === held;
  }

  /** The keeper forgets it. */
  letGo(held: HeldJob): void {
    if (!this.has(held)) return;
    const { cell } = held.lease;
    this.#byCell[cell] = undefined;
    this.cells.leave(cell);
    this.#free.push(cell);
  }

  deadlineMs({ lease }: HeldJob): number {
    return this.cells.deadlineMs(lease.cell);
  }

  /** Whether the lease is still held, by this process's own reckoning. */
  isLeased(held: HeldJob): boolean {
    return this.has(held) && held.stop.reason === undefined && monotonicMs() < this.deadlineMs(held);
  }
}
