/** A directed graph by numbers: nodes are 0 to `size` - 1; an edge leads from what must end first to its dependent. */
export interface Graph {
  readonly size: number;
  readonly edges: readonly (readonly [from: number, to: number])[];
}

/**
 * The layer of each node: one more than the highest layer of what it depends on, so that layers read as "not before".
 * Nodes on a cycle, which the service refuses, end up one layer behind everything else.
 */
export function layersOf({ size, edges }: Graph): Int32Array {
  const layer = new Int32Array(size);
  const missing = new Int32Array(size);
  const next: number[][] = Array.from({ length: size }, () => []);
  for (const [from, to] of edges) {
    next[from]?.push(to);
    missing[to] = (missing[to] ?? 0) + 1;
  }
  const ready: number[] = [];
  for (let node = 0; node < size; node++) if (missing[node] === 0) ready.push(node);
  let deepest = -1;
  // The list grows while it is walked.
  for (const node of ready) {
    const own = layer[node] ?? 0;
    deepest = Math.max(deepest, own);
    for (const dependent of next[node] ?? []) {
      layer[dependent] = Math.max(layer[dependent] ?? 0, own + 1);
      missing[dependent] = (missing[dependent] ?? 0) - 1;
      if (missing[dependent] === 0) ready.push(dependent);
    }
  }
  for (let node = 0; node < size; node++) if ((missing[node] ?? 0) > 0) layer[node] = deepest + 1;
  return layer;
}
