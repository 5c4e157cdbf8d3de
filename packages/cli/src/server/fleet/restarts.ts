/**
 * When a process that has ended unexpectedly is started again. One that had run for a while is replaced at once; one
 * that ends before it served, or soon after, is given longer and longer. After several in a row nothing suggests that
 * the next would fare better: the parent gives up, and leaves the rest to whatever supervises it.
 */
export type Decision =
  { readonly kind: 'restart'; readonly delayMs: number; readonly failures: number } | { readonly kind: 'give-up' };

/** A process that served for less than this counts as a failed start, however long it took to get there. */
export const SOON_MS = 10_000;
export const MAX_FAILURES = 5;
const FIRST_DELAY_MS = 100;

/** `failures`: how many starts in a row had failed before this one, in the same place. */
export function afterCrash(servedMs: number, failures: number): Decision {
  if (servedMs >= SOON_MS) return { kind: 'restart', delayMs: 0, failures: 0 };
  if (failures + 1 >= MAX_FAILURES) return { kind: 'give-up' };
  return { kind: 'restart', delayMs: FIRST_DELAY_MS * 2 ** failures, failures: failures + 1 };
}
