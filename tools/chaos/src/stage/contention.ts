/**
 * How much longer things take because others use the processor too: the time it takes to get a few milliseconds of it, over those
 * milliseconds. 1 on a quiet machine. Bounds in seconds are stretched by the worst of it while they ran, or a busy machine would be
 * found guilty of being busy.
 */
const SAMPLE_MS = 12;
const EVERY_MS = 400;
const REMEMBERED_MS = 300_000;

interface Sample {
  readonly at: number;
  readonly ratio: number;
}

const samples: Sample[] = [];

function sample(): void {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  for (let used = 0; used < SAMPLE_MS;) {
    const { user, system } = process.cpuUsage(before);
    used = (user + system) / 1_000;
  }
  const at = performance.now();
  samples.push({ at, ratio: (at - startedAt) / SAMPLE_MS });
  while (samples[0] && samples[0].at < at - REMEMBERED_MS) samples.shift();
}

/** From now on, until the returned function is called. */
export function watchContention(): () => void {
  const timer = setInterval(sample, EVERY_MS);
  return () => clearInterval(timer);
}

/** The worst of the last so many milliseconds. */
export function contention(lastMs: number): number {
  sample();
  const since = performance.now() - lastMs - EVERY_MS;
  return Math.max(1, ...samples.filter(({ at }) => at >= since).map(({ ratio }) => ratio));
}
