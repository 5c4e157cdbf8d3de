/** Runs `body` for 0, 1, 2 … up to `count`, at most `concurrency` of them at a time. */
export async function runConcurrently(
  count: number,
  concurrency: number,
  body: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const runInTurn = async (): Promise<void> => {
    while (next < count) await body(next++);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, runInTurn));
}

/** Starts `body` `count` times at once. */
export const together = <T>(count: number, body: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => body(index)));

/** The item whose turn it is, starting over after the last one. */
export function inTurn<T>(items: readonly [T, ...T[]], index: number): T {
  return items[index % items.length] ?? items[0];
}
