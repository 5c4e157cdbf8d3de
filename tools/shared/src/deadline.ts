/**
 * How long tests wait before they call something hung. Deadlines end hangs and nothing else: a machine that is busy, or
 * has one core, must not decide whether a test passes. Times that the service promises are measured by the benchmark
 * and the fault suite.
 */

/** For one thing that is awaited. Shorter than a test's deadline, so that the error says what was awaited. */
export const PATIENCE_MS = 3 * 60_000;

/** For a whole test or hook. */
export const DEADLINE_MS = 10 * 60_000;
