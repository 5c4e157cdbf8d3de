import type { ProperGraph } from './proper.js';

const MAX_SWEEPS = 12;
/** Sweeps without fewer crossings before we stop. */
const PATIENCE = 3;

/** The order of each row with few crossings: each node goes to the mean place of its neighbours, to and fro. */
export function orderRows(graph: ProperGraph): number[][] {
  let rows = graph.rows.map((row) => [...row]);
  let best = rows;
  let fewest = crossings(graph, rows);
  for (let sweep = 0, idle = 0; sweep < MAX_SWEEPS && idle < PATIENCE && fewest > 0; sweep++, idle++) {
    rows = sweepOnce(graph, rows, sweep % 2 === 0);
    const count = crossings(graph, rows);
    if (count >= fewest) continue;
    [best, fewest, idle] = [rows, count, 0];
  }
  return best;
}

function sweepOnce({ above, below, layer }: ProperGraph, rows: readonly number[][], down: boolean): number[][] {
  const result = rows.map((row) => [...row]);
  const place = new Float64Array(layer.length);
  for (const row of result) row.forEach((node, index) => (place[node] = index));
  const neighbours = down ? above : below;
  const order = down ? result.keys() : [...result.keys()].reverse();
  for (const index of order) {
    const row = result[index] ?? [];
    const mean = new Map(row.map((node) => [node, meanPlace(neighbours[node] ?? [], place, place[node] ?? 0)]));
    // Ties keep their order: a stable sort leaves alone what is as good as before.
    row.sort((one, other) => (mean.get(one) ?? 0) - (mean.get(other) ?? 0));
    row.forEach((node, at) => (place[node] = at));
  }
  return result;
}

function meanPlace(neighbours: readonly number[], place: Float64Array, own: number): number {
  if (neighbours.length === 0) return own;
  let sum = 0;
  for (const neighbour of neighbours) sum += place[neighbour] ?? 0;
  return sum / neighbours.length;
}

/** How many pairs of edges between neighbouring rows cross. Counted with a tree of sums: n log n, not n squared. */
export function crossings({ below, layer }: ProperGraph, rows: readonly (readonly number[])[]): number {
  const place = new Int32Array(layer.length);
  for (const row of rows) row.forEach((node, index) => (place[node] = index));
  let total = 0;
  for (const [index, row] of rows.entries()) {
    const width = rows[index + 1]?.length ?? 0;
    if (width === 0) continue;
    const tree = new Int32Array(width + 1);
    let seen = 0;
    for (const node of row) {
      const ends = (below[node] ?? []).filter((end) => layer[end] === index + 1).map((end) => place[end] ?? 0);
      for (const end of ends) {
        let notBehind = 0;
        for (let i = end + 1; i > 0; i -= i & -i) notBehind += tree[i] ?? 0;
        total += seen - notBehind;
      }
      // Edges that share their start do not cross: they count only for the nodes after it.
      for (const end of ends) {
        for (let i = end + 1; i <= width; i += i & -i) tree[i] = (tree[i] ?? 0) + 1;
        seen++;
      }
    }
  }
  return total;
}
