import { layersOf, type Graph } from './layers.js';

/**
 * A graph whose edges lead from each layer to the next: a longer edge goes through one waypoint per layer that it
 * crosses. Waypoints are nodes like the others from here on, numbered behind them.
 */
export interface ProperGraph {
  readonly layer: readonly number[];
  /** The nodes of each layer, in the order they are drawn in. */
  readonly rows: readonly (readonly number[])[];
  readonly above: readonly (readonly number[])[];
  readonly below: readonly (readonly number[])[];
  /** For each edge of the graph: its nodes from end to end. */
  readonly routes: readonly (readonly number[])[];
}

/** Beyond this many waypoints long edges are drawn straight: 20,000 dependencies may cross a thousand layers each. */
const MAX_WAYPOINTS = 20_000;

export function toProper(graph: Graph): ProperGraph {
  const layer = [...layersOf(graph)];
  const isForward = ([from, to]: readonly [number, number]): boolean => (layer[to] ?? 0) > (layer[from] ?? 0);
  const crossed = graph.edges.filter(isForward).map(([from, to]) => (layer[to] ?? 0) - (layer[from] ?? 0) - 1);
  const isStraight = crossed.reduce((sum, count) => sum + count, 0) > MAX_WAYPOINTS;

  const routes = graph.edges.map((edge) => {
    const [from, to] = edge;
    const route = [from];
    if (isForward(edge) && !isStraight) {
      for (let between = (layer[from] ?? 0) + 1; between < (layer[to] ?? 0); between++) {
        route.push(layer.length);
        layer.push(between);
      }
    }
    route.push(to);
    return route;
  });

  const above: number[][] = layer.map(() => []);
  const below: number[][] = layer.map(() => []);
  for (const route of routes) {
    for (let i = 1; i < route.length; i++) {
      const [from = 0, to = 0] = [route[i - 1], route[i]];
      below[from]?.push(to);
      above[to]?.push(from);
    }
  }
  return { layer, rows: initialRows(layer, above, below), above, below, routes };
}

/** Nodes in the order of a depth-first walk: what belongs together starts out close to each other. */
function initialRows(layer: readonly number[], above: readonly number[][], below: readonly number[][]): number[][] {
  const depth = layer.reduce((most, own) => Math.max(most, own), -1) + 1;
  const rows: number[][] = Array.from({ length: depth }, () => []);
  const seen = new Uint8Array(layer.length);
  for (let root = 0; root < layer.length; root++) {
    if (seen[root] === 1 || (above[root]?.length ?? 0) > 0) continue;
    const stack = [root];
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (seen[node] === 1) continue;
      seen[node] = 1;
      rows[layer[node] ?? 0]?.push(node);
      for (const child of [...(below[node] ?? [])].reverse()) if (seen[child] !== 1) stack.push(child);
    }
  }
  // Only a cycle has nodes that no walk from a root reaches.
  for (let node = 0; node < layer.length; node++) if (seen[node] !== 1) rows[layer[node] ?? 0]?.push(node);
  return rows;
}
