import { setTimeout as sleep } from 'node:timers/promises';

/** The worker did not do what a scenario asks. The message says what was seen instead. */
export class Violation extends Error {}

export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Violation(otherwise);
}

/** How long to let something happen that takes no time by itself, on a slow machine. */
export const PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 10;
/** Where looking means asking the server. */
export const ASK_EVERY_MS = 100;

/** Looks again and again until `probe` finds something. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  withinMs = PATIENCE_MS,
  everyMs = LOOK_EVERY_MS,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await probe();
    if (found !== null && found !== undefined && found !== false) return found;
    check(performance.now() < deadline, `${what}: not within ${(withinMs / 1000).toFixed(1)} s`);
    await sleep(everyMs);
  }
}

/** Watches for a while. Used where the worker must not do something. */
export const watch = (ms: number): Promise<void> => sleep(ms);

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
