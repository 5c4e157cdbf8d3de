/**
 * How much longer everything takes than on a quiet machine, because others use the processor too, or because it is a
 * slow one. Time limits are stretched by the worst value while they ran, or the service would be blamed for its
 * machine:
 *
 * - by the time that a fixed piece of work takes, divided by what it takes on a quiet machine of today;
 * - by how late this process itself was, which takes the times: when the machine stands still, so does the clock hand.
 */
const WORK_MS = 12;
const EVERY_MS = 400;
const REMEMBERED_MS = 300_000;

interface Sample {
  readonly at: number;
  readonly ratio: number;
  readonly lateMs: number;
}

const samples: Sample[] = [];
let dueAt = Infinity;

const TEXT = `[${'{"a":[1,{}]},'.repeat(2_000)}{}]`;

function work(): number {
  const startedAt = performance.now();
  for (let n = 0; n < 32; n++) JSON.parse(TEXT);
  return performance.now() - startedAt;
}

function sample(): void {
  const lateMs = Math.max(0, performance.now() - dueAt);
  const ratio = work() / WORK_MS;
  const at = performance.now();
  samples.push({ at, ratio, lateMs });
  while (samples[0] && samples[0].at < at - REMEMBERED_MS) samples.shift();
}

/** Takes samples until the returned function is called. */
export function watchContention(): () => void {
  // The first time is compiled, and says nothing.
  work();
  dueAt = performance.now() + EVERY_MS;
  const timer = setInterval(() => {
    sample();
    dueAt = performance.now() + EVERY_MS;
  }, EVERY_MS);
  return () => clearInterval(timer);
}

/** What the limit of something comes to that took the last `lastMs` milliseconds. */
export function stretched(limitMs: number, lastMs: number): number {
  sample();
  const since = performance.now() - lastMs - EVERY_MS;
  const recent = samples.filter(({ at }) => at >= since);
  const worst = (of: keyof Sample, least: number): number => Math.max(least, ...recent.map((each) => each[of]));
  return limitMs * worst('ratio', 1) + worst('lateMs', 0);
}
