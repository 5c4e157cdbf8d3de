/**
 * Stopping, in two phases. First everything that serves somebody drains, all at once and within one deadline: no new requests, no new claims,
 * what is under way finishes. Then everything stops, the last started first. A start that fails half-way stops what it had started.
 */
export class Lifecycle {
  readonly #drains: ((graceMs: number) => Promise<void>)[] = [];
  readonly #stops: (() => Promise<void>)[] = [];
  #stopping = false;
  #stopped: Promise<void> | null = null;

  get stopping(): boolean {
    return this.#stopping;
  }

  onDrain(drain: (graceMs: number) => Promise<void>): void {
    this.#drains.push(drain);
  }

  onStop(stop: () => Promise<void> | void): void {
    this.#stops.push(async () => stop());
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    return (this.#stopped ??= this.#run(graceMs));
  }

  async #run(graceMs: number): Promise<void> {
    await Promise.all(this.#drains.map((drain) => drain(graceMs)));
    for (const stop of this.#stops.reverse()) await stop();
  }
}
