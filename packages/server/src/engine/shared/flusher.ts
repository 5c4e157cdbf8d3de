/**
 * Writes what was gathered in memory: once in FLUSH_MS at most, and the first after a pause at once, but for what comes
 * along with it. What cannot be written is written after the next call of `arm`.
 */
export const FLUSH_MS = 15_000;
/** How often the same is written again where nothing changes, so that an idle service stays idle. */
export const IDLE_MS = 60_000;
const GATHER_MS = 250;

export class Flusher {
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #flushedAt = -Infinity;
  #stopped = false;

  /** `flush` must not reject. */
  constructor(
    private readonly flush: () => Promise<void>,
    private readonly isEmpty: () => boolean,
    private readonly now: () => number,
  ) {}

  /** There is something to write. */
  arm(): void {
    if (this.#timer || this.#writing || this.#stopped || this.isEmpty()) return;
    const waitMs = Math.max(GATHER_MS, this.#flushedAt + FLUSH_MS - this.now());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#flushedAt = this.now();
      this.#writing = this.flush().finally(() => {
        this.#writing = null;
        this.arm();
      });
    }, waitMs);
    this.#timer.unref();
  }

  /** Writes what is left: nobody will know it otherwise. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#writing;
    if (!this.isEmpty()) await this.flush();
  }
}
