/**
 * How long tests wait before they call something hung. Deadlines end hangs and nothing else: a machine that is busy, or
 * has one core, must not decide whether a test passes. Times that the service promises are measured by the benchmark
 * and the fault suite.
 */

/**
 * For one thing that is awaited. Shorter than a test's deadline, so that the error says what was awaited. Where things
 * are broken on purpose (`npm run map`), nearly every test hangs, and less will do.
 */
export const PATIENCE_MS = Number(process.env.MILLRACE_TEST_PATIENCE_SECS ?? 180) * 1000;

/** For a whole test or hook. */
export const DEADLINE_MS = (PATIENCE_MS * 10) / 3;
