/**
 * Notes when this process itself was not running because the machine had other things to do: what the kit measures
 * during such a time says nothing about the worker.
 */
export class StallWatch {
  readonly #windows = new Set<{ worstMs: number }>();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let last = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      for (const window of this.#windows) window.worstMs = Math.max(window.worstMs, now - last - EVERY_MS);
      last = now;
    }, EVERY_MS);
  }

  /** Starts to measure. The function that it returns ends that and says how long the longest stall was. */
  open(): () => number {
    const window = { worstMs: 0 };
    this.#windows.add(window);
    return () => {
      this.#windows.delete(window);
      return window.worstMs;
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

const EVERY_MS = 20;
