/**
 * Work that holds up the event loop for a while, one piece of it per turn of the loop: several pieces that arrive
 * together do not add up for everybody else, who get their turn in between.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  take(work: () => void): void {
    if (this.#waiting.push(work) === 1) setImmediate(this.#next);
  }

  readonly #next = (): void => {
    const [work] = this.#waiting;
    try {
      work?.();
    } finally {
      this.#waiting.shift();
      if (this.#waiting.length > 0) setImmediate(this.#next);
    }
  };
}
