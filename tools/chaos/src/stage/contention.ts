/**
 * How much longer everything takes because others use the processor too: the time it takes to get a few milliseconds of
 * processor time, divided by those milliseconds. It is 1 on a quiet machine. Time limits are stretched by the worst
 * value while they ran, or the service would be blamed for a busy machine.
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

/** Takes samples until the returned function is called. */
export function watchContention(): () => void {
  const timer = setInterval(sample, EVERY_MS);
  return () => clearInterval(timer);
}

/** The worst value in the last `lastMs` milliseconds. */
export function contention(lastMs: number): number {
  sample();
  const since = performance.now() - lastMs - EVERY_MS;
  return Math.max(1, ...samples.filter(({ at }) => at >= since).map(({ ratio }) => ratio));
}
