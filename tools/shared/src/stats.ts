const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

/** NaN if there are no values. */
export function median(values: readonly number[]): number {
  const order = sorted(values);
  const middle = order.length >> 1;
  return order.length % 2 === 1 ? (order[middle] ?? NaN) : ((order[middle - 1] ?? NaN) + (order[middle] ?? NaN)) / 2;
}

/** The smallest value that at least `share` of the values do not exceed; NaN if there are no values. */
export function quantile(values: readonly number[], share: number): number {
  const order = sorted(values);
  return order[Math.max(0, Math.ceil(order.length * share) - 1)] ?? NaN;
}
