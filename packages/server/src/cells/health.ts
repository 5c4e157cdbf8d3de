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

  #said = '';

  /** `probe` fails while the database is out of reach, or not what it is taken for. `tell` is told why, once. */
  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly tell: (why: string) => void = () => undefined,
  ) {}

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
      this.#said = '';
    } catch (error) {
      const why = reasonOf(error);
      if (why !== this.#said) this.tell((this.#said = why));
      if (!this.#stopped) this.#timer = setTimeout(() => void this.#ask(), PROBE_MS);
    }
  }
}

/** What the database said, rather than what callers are told. */
const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
};
