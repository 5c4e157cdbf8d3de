/** Ends a piece of work at a time limit or when the caller's signal fires, whichever comes first. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether the time limit, and not the caller, ended it. */
  readonly expired: () => boolean;
  /** Lets go of the timer and of the caller's signal. */
  readonly clear: () => void;
}

/** Not AbortSignal.any: on Node 20 it keeps every signal alive for as long as the caller's lives. */
export function startDeadline(timeoutMs: number, signal?: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    controller.abort(new Error(`no answer within ${timeoutMs} ms`));
  }, timeoutMs);
  const follow = (): void => controller.abort(signal?.reason);
  if (signal?.aborted === true) follow();
  else signal?.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    expired: () => expired,
    clear: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', follow);
    },
  };
}

/** Waits; ends early, without an error, when the signal fires. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
