/**
 * Tells a handler to stop, once. An AbortController is a large part of what a quick job costs, and most handlers never
 * look at their signal: it is made when somebody asks for it.
 */
export class StopSwitch {
  #controller: AbortController | undefined;
  #listener: (() => void) | undefined;
  #reason: Error | undefined;

  /** Why the handler is to stop; undefined while it is not. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** The first reason stands. */
  stop(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#listener?.();
  }

  /** There is one listener: the attempt. */
  onStop(listener: () => void): void {
    this.#listener = listener;
  }
}
