import type { ProperGraph } from './proper.js';

const SWEEPS = 8;

/**
 * Where each node stands across its row, given the order of the rows. To and fro, each node wants to be at the mean of
 * its neighbours; the row then takes the places that are closest to these wishes and far enough apart.
 */
export function placeRows(
  { above, below, layer }: ProperGraph,
  rows: readonly (readonly number[])[],
  gap: (one: number, other: number) => number,
): Float64Array {
  const at = new Float64Array(layer.length);
  for (const row of rows)
    spread(
      row,
      row.map(() => 0),
      gap,
      at,
    );
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    const neighbours = down ? above : below;
    for (const row of down ? rows : [...rows].reverse()) {
      spread(
        row,
        row.map((node) => wish(neighbours[node] ?? [], at, at[node] ?? 0)),
        gap,
        at,
      );
    }
  }
  const least = at.reduce((lowest, value) => Math.min(lowest, value), Infinity);
  return at.map((value) => value - least);
}

function wish(neighbours: readonly number[], at: Float64Array, own: number): number {
  if (neighbours.length === 0) return own;
  let sum = 0;
  for (const neighbour of neighbours) sum += at[neighbour] ?? 0;
  return sum / neighbours.length;
}

/**
 * The least-squares answer, by merging neighbours that would come too close into blocks which move together (isotonic
 * regression after the gaps are taken out): one pass, whatever the wishes are.
 */
function spread(
  row: readonly number[],
  wishes: readonly number[],
  gap: (one: number, other: number) => number,
  at: Float64Array,
): void {
  const offset = new Float64Array(row.length);
  for (let i = 1; i < row.length; i++) offset[i] = (offset[i - 1] ?? 0) + gap(row[i - 1] ?? 0, row[i] ?? 0);
  const blocks: { sum: number; count: number }[] = [];
  for (let i = 0; i < row.length; i++) {
    let block = { sum: (wishes[i] ?? 0) - (offset[i] ?? 0), count: 1 };
    for (let last = blocks.at(-1); last && last.sum / last.count > block.sum / block.count; last = blocks.at(-1)) {
      block = { sum: last.sum + block.sum, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  }
  let index = 0;
  for (const { sum, count } of blocks) {
    for (let i = 0; i < count; i++, index++) at[row[index] ?? 0] = sum / count + (offset[index] ?? 0);
  }
}
