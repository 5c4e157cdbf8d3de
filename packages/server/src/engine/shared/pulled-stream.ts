/**
 * What happens, for somebody who takes it at their own pace: nothing is kept for a client that is slow. `pull` finds
 * the next value when it is asked for, or null if there is none yet; then it is asked again after a `wake`.
 *
 * A value is held by nobody but whoever asked for it. That is why this is no generator: one that waits for its next
 * value still holds the one before.
 */
export interface PulledStreamOptions<T> {
  readonly pull: () => Promise<T | null>;
  /** Called once, when the stream is over. */
  readonly onClose: () => Promise<void>;
  readonly signal: AbortSignal;
}

export class PulledStream<T> implements AsyncIterableIterator<T> {
  #resume: (() => void) | null = null;
  #isWoken = false;
  #isEnded = false;
  #closing: Promise<void> | null = null;
  readonly #stop = (): void => this.end();

  constructor(private readonly options: PulledStreamOptions<T>) {
    const { signal } = options;
    if (signal.aborted) this.#isEnded = true;
    signal.addEventListener('abort', this.#stop, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** There may be something new. */
  wake(): void {
    this.#isWoken = true;
    this.#resume?.();
  }

  /** What has been pulled was the last. */
  end(): void {
    this.#isEnded = true;
    this.wake();
  }

  async next(): Promise<IteratorResult<T>> {
    while (!this.#isEnded) {
      this.#isWoken = false;
      const value = await this.#pullOrClose();
      if (value !== null) return { value, done: false };
      if (!this.#isWoken) await new Promise<void>((resolve) => (this.#resume = resolve));
      this.#resume = null;
    }
    return this.return();
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.end();
    this.options.signal.removeEventListener('abort', this.#stop);
    await (this.#closing ??= this.options.onClose());
    return { value: undefined, done: true };
  }

  async #pullOrClose(): Promise<T | null> {
    try {
      return await this.options.pull();
    } catch (error) {
      await this.return();
      throw error;
    }
  }
}
