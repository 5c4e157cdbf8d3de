import { errorFor, MillraceError, WaitTimeoutError } from '../errors/call-errors.js';
import { pause } from '../http/deadline.js';
import { isRepeated, retryDelayMs } from '../http/retry.js';

/** How long `result()` waits unless told otherwise. */
export const DEFAULT_WAIT = '5m';
/** How long one call waits at the server: shorter than the half minute after which proxies like to hang up. */
export const LONG_POLL_SECS = 20;
const POLL_FIRST_MS = 50;
const POLL_MOST_MS = 2_000;

/** Milliseconds since whenever. */
export type Clock = () => number;

/** Setting the computer's clock does not move it. */
export const monotonic: Clock = () => performance.now();

/** A time limit by the clock of the client. */
export class TimeLimit {
  readonly #clock: Clock;
  readonly #end: number;

  constructor(ms: number, clock: Clock) {
    this.#clock = clock;
    this.#end = clock() + ms;
  }

  leftMs(): number {
    return Math.max(0, this.#end - this.#clock());
  }

  /** Whole seconds that a call may wait at the server without overrunning; at most LONG_POLL_SECS. */
  pollSecs(most: number = LONG_POLL_SECS): number {
    return Math.min(most, Math.floor(this.leftMs() / 1_000));
  }
}

export interface WaitCall<T> {
  /** What is waited for, as the error names it. */
  readonly what: string;
  readonly limit: TimeLimit;
  readonly signal: AbortSignal | undefined;
  /**
   * Asks once, waiting at the server for up to that many seconds (0: not at all). `undefined` if it has not ended;
   * anything else ends the wait. Whether the server waited decides how soon it is asked again.
   */
  readonly ask: (waitSecs: number) => Promise<T | undefined>;
  readonly longPolls: boolean;
  readonly mostSecs?: number;
}

/**
 * Asks until there is something to return or the time is over. Calls that got no answer do not end it: whoever waits
 * wants to know the outcome, also after a restart of the server.
 */
export async function waitFor<T>({ what, limit, signal, ask, longPolls, mostSecs }: WaitCall<T>): Promise<T> {
  let cause: unknown;
  for (let asked = 0, failed = 0; ; asked++) {
    try {
      const waitSecs = longPolls ? limit.pollSecs(mostSecs) : 0;
      const found = await ask(waitSecs);
      if (found !== undefined) return found;
      [failed, cause] = [0, undefined];
      if (waitSecs === 0) await rest(Math.min(POLL_FIRST_MS * 1.5 ** asked, POLL_MOST_MS), limit, signal);
    } catch (error) {
      if (!isPassing(error)) throw error;
      [failed, cause] = [failed + 1, error];
      await rest(retryDelayMs(failed, null), limit, signal);
    }
    if (signal?.aborted === true) {
      throw errorFor('the wait was aborted', { code: 'aborted', cause: signal.reason as unknown });
    }
    if (limit.leftMs() === 0) {
      throw new WaitTimeoutError(`${what} had not ended when the wait timed out; it is still running`, {
        code: 'timeout',
        cause,
      });
    }
  }
}

const rest = (ms: number, limit: TimeLimit, signal: AbortSignal | undefined): Promise<void> =>
  pause(Math.min(ms, limit.leftMs()), signal);

export const isPassing = (error: unknown): boolean =>
  error instanceof MillraceError && (error.code === 'no_answer' || (error.status !== null && isRepeated(error.status)));
