/** Milliseconds of a clock that never jumps, the same in every thread of this process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
