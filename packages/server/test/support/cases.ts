import fc from 'fast-check';

/** Of the cases of a property, a quarter is tried in `npm test`, four times as many in `npm run test:full`. */
const FACTOR = Number(process.env.MILLRACE_TEST_CASES ?? 0.25);

fc.configureGlobal({ numRuns: cases(100) });

/** The number of cases of a property that needs another number than the usual hundred, or of the rounds of a race. */
export function cases(count: number): number {
  return Math.ceil(count * FACTOR);
}
