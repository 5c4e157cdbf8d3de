/**
 * What something costs, in milliseconds of this process's own CPU time, which other programs on the machine do not
 * change. The least of several runs: the first one also compiles, and any of them may collect garbage.
 */
export function cpuMs(runs: number, body: () => void): number {
  const took = Array.from({ length: runs }, () => {
    const before = process.cpuUsage();
    body();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...took);
}

/**
 * How many times as much `body` costs for a size that is sixteen times as large: about sixteen if it takes one pass,
 * 256 if it tries every start with every end.
 */
export function growth(size: number, body: (size: number) => void): number {
  const small = cpuMs(5, () => body(size / 16));
  return cpuMs(5, () => body(size)) / Math.max(small, 0.05);
}

/** Between one pass and a pass for every character, far from both. */
export const ONE_PASS = 64;
