/** The clock of a fake server: it moves only when it is told to. */
export class FakeClock {
  #now: number;

  constructor(start: Date) {
    this.#now = start.getTime();
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#now;
  }

  /** As the service writes instants: with microseconds, though these are never other than zero. */
  text(at: number = this.#now): string {
    return new Date(at).toISOString().replace('Z', '000Z');
  }

  moveTo(at: number): void {
    this.#now = Math.max(this.#now, at);
  }
}
