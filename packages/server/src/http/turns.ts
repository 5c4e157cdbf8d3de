import { atOnce, type Steps } from '../domain/steps.js';

/**
 * Work that would hold up the event loop for a while, one step of it per turn of the loop: neither the steps of a large
 * request nor several requests that arrive together add up for everybody else, who get their turn in between. Those
 * that are at work take turns as well, so a smaller one does not wait for all of a larger one.
 */
export class LoopTurns {
  readonly #waiting: (() => boolean)[] = [];

  /** Resolves to what the steps return. */
  run<T>(steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const step = (): boolean => {
        try {
          const { done, value } = steps.next();
          if (done === true) resolve(value);
          return done === true;
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          return true;
        }
      };
      this.#join(step);
    });
  }

  /** Resolves in a turn of the loop that nobody else was given. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#join(() => {
        resolve();
        return true;
      });
    });
  }

  /** What takes steps over a text: a short one is done at once. */
  over<T>(text: string, steps: Steps<T>): T | Promise<T> {
    return text.length < LARGE ? atOnce(steps) : this.run(steps);
  }

  #join(step: () => boolean): void {
    if (this.#waiting.push(step) === 1) setImmediate(this.#next);
  }

  readonly #next = (): void => {
    const step = this.#waiting[0]!;
    const isDone = step();
    this.#waiting.shift();
    if (!isDone) this.#waiting.push(step);
    if (this.#waiting.length > 0) setImmediate(this.#next);
  };
}

/** Bodies of this size take turns: in bytes, or in units of their text. */
export const LARGE = 256 * 1024;
