/**
 * How stages tell the pool that there is room. Jobs go down: they are claimed, let through the start gate, run, and
 * their outcomes are stored. A stage that has made room says so here, and the pool looks at what can go on.
 */
export class Progress {
  #listener: () => void = () => undefined;

  onMade(listener: () => void): void {
    this.#listener = listener;
  }

  made(): void {
    this.#listener();
  }
}
