import type { FastifyReply } from 'fastify';

/**
 * Calls that may stay open for long. Each gets a signal that fires when its client hangs up, when the server stops
 * serving, or when its time is up, so that nobody waits for work on behalf of somebody who left, and shutdown is
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

  /** Lets go of everybody who waits, now and from now on. */
  endAll(): void {
    this.#ended = true;
    for (const controller of this.#controllers) controller.abort();
  }
}
