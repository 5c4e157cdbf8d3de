/** Does `body` for 0, 1, 2 … up to `count`, some of them at a time. */
export async function inLanes(count: number, lanes: number, body: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await body(next++);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, count) }, lane));
}

/** The same times over: `n` things that begin together. */
export const together = <T>(n: number, body: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, index) => body(index)));

/** The one whose turn it is, again from the first after the last. */
export function inTurn<T>(items: readonly [T, ...T[]], index: number): T {
  return items[index % items.length] ?? items[0];
}
