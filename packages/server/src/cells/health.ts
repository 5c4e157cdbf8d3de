/**
 * Whether a cell can be asked. The first statement that fails because its database is out of reach says that it is
 * away; from then on the database is asked by nobody but this, once a second, until it answers. So the callers of other
 * cells never wait for it, and a cell that is well costs nothing.
 */
const PROBE_MS = 1_000;

export class CellHealth {
  #isAway = false;
  #stopped = false;
  #timer: NodeJS.Timeout | null = null;

  /** `probe` fails while the database is out of reach. */
  constructor(private readonly probe: () => Promise<unknown>) {}

  get isAway(): boolean {
    return this.#isAway;
  }

  /** A statement has failed. */
  failed(): void {
    if (this.#isAway || this.#stopped) return;
    this.#isAway = true;
    void this.#ask();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  async #ask(): Promise<void> {
    try {
      await this.probe();
      this.#isAway = false;
    } catch {
      if (!this.#stopped) this.#timer = setTimeout(() => void this.#ask(), PROBE_MS);
    }
  }
}
