import fc from 'fast-check';

/** How many times as many cases a property is tried with: more in `npm run test:full`. */
const FACTOR = Number(process.env.MILLRACE_TEST_CASES ?? 1);

fc.configureGlobal({ numRuns: cases(100) });

/** The number of cases of a property that needs another number than the usual hundred. */
export function cases(count: number): number {
  return count * FACTOR;
}
