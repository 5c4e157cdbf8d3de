/**
 * How much longer things take because others use the processor too: the time it takes to get a few milliseconds of it, over those
 * milliseconds. 1 on a quiet machine. Bounds in seconds are stretched by it, or a busy machine would be found guilty of being busy.
 */
const SAMPLE_MS = 15;

export function contention(): number {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(before);
    const used = (user + system) / 1_000;
    if (used >= SAMPLE_MS) return Math.max(1, (performance.now() - startedAt) / used);
  }
}
