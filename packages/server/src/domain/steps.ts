/**
 * Work over a long text that can pause: it yields after every STEP_UNITS or so. Whoever runs it decides whether others
 * get a turn in between.
 */
export type Steps<T> = Generator<undefined, T>;

/** About five milliseconds of checking, on a slow machine ten. */
export const STEP_UNITS = 512 * 1024;

/** Without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
