/** The machine's monotonic clock: all its processes share it and nobody can set it. */
export const monotonicMicros = (): number => Number(process.hrtime.bigint() / 1_000n);

export const monotonicMs = (): number => monotonicMicros() / 1_000;
