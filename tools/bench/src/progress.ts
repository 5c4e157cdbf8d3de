/**
 * The progress of a drain. Every contender's handler calls `tick`; the times at which each twentieth of the jobs had
 * been handled show whether the rate held. The first fifth warms the process up and does not count, for all contenders
 * alike.
 */
export interface DrainReport {
  readonly jobs: number;
  readonly perSecond: number;
  /** Jobs per second in each twentieth. */
  readonly curve: readonly number[];
  readonly nodeMicrosPerJob: number;
}

const PARTS = 20;
const WARM_PARTS = 4;

export class Progress {
  readonly handled: Promise<void>;
  readonly #marks: number[] = [];
  readonly #part: number;
  #finish!: () => void;
  #count = 0;
  #nextMark = 1;
  #cpu: NodeJS.CpuUsage | null = null;

  constructor(readonly jobs: number) {
    this.#part = Math.ceil(jobs / PARTS);
    this.handled = new Promise((resolve) => (this.#finish = resolve));
  }

  tick(): void {
    if (this.#count++ === 0) this.#begin();
    if (this.#count >= this.#nextMark * this.#part || this.#count === this.jobs) {
      this.#nextMark++;
      this.#marks.push(performance.now());
    }
    if (this.#count === this.jobs) this.#finish();
  }

  /** Call this when everything is committed: that is the end, not the last handler. */
  report(): DrainReport {
    const end = performance.now();
    const cpu = process.cpuUsage(this.#cpu ?? undefined);
    const warmAt = this.#marks[WARM_PARTS] ?? NaN;
    const curve = this.#marks.slice(1).map((mark, index) => (this.#part / (mark - (this.#marks[index] ?? NaN))) * 1000);
    return {
      jobs: this.jobs,
      perSecond: ((this.jobs - WARM_PARTS * this.#part) / (end - warmAt)) * 1000,
      curve,
      nodeMicrosPerJob: (cpu.user + cpu.system) / this.jobs,
    };
  }

  #begin(): void {
    this.#cpu = process.cpuUsage();
    this.#marks.push(performance.now());
  }
}

/** The rate of the last quarter, divided by that of the first quarter after the warm-up. */
export function flatness(curve: readonly number[]): number {
  const harmonic = (rates: readonly number[]): number => rates.length / rates.reduce((sum, rate) => sum + 1 / rate, 0);
  const warm = curve.slice(WARM_PARTS);
  const quarter = Math.max(1, Math.floor(warm.length / 4));
  return harmonic(warm.slice(-quarter)) / harmonic(warm.slice(0, quarter));
}
