import type { FastifyReply } from 'fastify';

/**
 * Calls that may stay open for a long time. Each gets a signal that fires when its client hangs up, when the server
 * stops serving, or when its time is up, so that no call keeps waiting after its client has left, and shutdown is
 * prompt.
 */
export class OpenCalls {
  readonly #controllers = new Set<AbortController>();
  #ended = false;

  open(reply: FastifyReply, maxMs?: number): AbortSignal {
    const controller = new AbortController();
    const { raw } = reply;
    const timer = maxMs === undefined ? undefined : setTimeout(() => controller.abort(), maxMs);
    this.#controllers.add(controller);
    raw.once('close', () => {
      clearTimeout(timer);
      this.#controllers.delete(controller);
      if (!raw.writableFinished) controller.abort();
    });
    if (this.#ended || raw.destroyed) controller.abort();
    return controller.signal;
  }

  /** Ends all open calls, and from now on every new one at once. */
  endAll(): void {
    this.#ended = true;
    for (const controller of this.#controllers) controller.abort();
  }
}
