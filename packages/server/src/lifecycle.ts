/**
 * Stopping, in two phases. First everything that serves somebody drains, all at once and within one deadline: no new
 * requests, no new claims, what is under way finishes. Then everything stops, the last started first. A start that
 * fails half-way stops what it had started. Whatever fails on the way, everything is stopped; then the failure is
 * thrown.
 */
export class Lifecycle {
  readonly #drains: ((graceMs: number) => Promise<void>)[] = [];
  #stops: (() => Promise<void>)[] = [];
  #stopping = false;
  #stopped: Promise<void> | null = null;

  get stopping(): boolean {
    return this.#stopping;
  }

  onDrain(drain: (graceMs: number) => Promise<void>): void {
    this.#drains.push(async (graceMs) => drain(graceMs));
  }

  /** Returns how to take it back: it has been stopped by other means. */
  onStop(stop: () => Promise<void> | void): () => void {
    const stopping = async (): Promise<void> => stop();
    this.#stops.push(stopping);
    return () => void (this.#stops = this.#stops.filter((each) => each !== stopping));
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    return (this.#stopped ??= this.#run(graceMs));
  }

  async #run(graceMs: number): Promise<void> {
    const failures: unknown[] = [];
    const note = (error: unknown): void => void failures.push(error);
    await Promise.all(this.#drains.map((drain) => drain(graceMs).catch(note)));
    for (const stop of this.#stops.toReversed()) await stop().catch(note);
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'several parts of the server failed to stop');
  }
}
