import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from './deadline.js';

export interface UntilOptions {
  /** What is awaited; named in the error if it does not happen. */
  readonly what?: string;
  readonly withinMs?: number;
  readonly everyMs?: number;
}

/** Not yet, perhaps with the reason. */
export type NotYet = string | false | null | undefined;

/**
 * Polls until `probe` returns an answer, and returns it. `false`, `null` and `undefined` mean not yet; so does a
 * string, which then appears in the error as the reason. An error thrown by the probe ends the wait at once.
 */
export async function until<T>(
  probe: () => Promise<T> | T,
  { what = 'the condition', withinMs = PATIENCE_MS, everyMs = 20 }: UntilOptions = {},
): Promise<Exclude<T, NotYet>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await probe();
    if (answer !== false && answer !== null && answer !== undefined && typeof answer !== 'string') {
      return answer as Exclude<T, NotYet>;
    }
    if (performance.now() > deadline) {
      const why = typeof answer === 'string' ? `: ${answer}` : '';
      throw new Error(`waited ${withinMs} ms for ${what}${why}`);
    }
    await sleep(everyMs);
  }
}
