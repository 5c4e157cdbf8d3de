import type { Graph } from './layers.js';
import { orderRows } from './order.js';
import { placeRows } from './place.js';
import { toProper } from './proper.js';

export interface Box {
  readonly width: number;
  readonly height: number;
  /** Between layers. */
  readonly gapX: number;
  /** Between neighbours of a layer. */
  readonly gapY: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** The top left corner of each node. */
  readonly nodes: readonly Point[];
  /** For each edge: from the right side of its start, by way of its waypoints, to the left side of its end. */
  readonly edges: readonly (readonly Point[])[];
}

/** A waypoint needs room for a line, not for a box. */
const WAYPOINT_HEIGHT = 10;

/**
 * A layered drawing from left to right. Layers by dependency, few crossings by sweeps of means, places by least
 * squares: a thousand steps and two thousand edges in some tens of milliseconds, where general libraries take seconds.
 */
export function layOut(graph: Graph, box: Box): Layout {
  const proper = toProper(graph);
  const rows = orderRows(proper);
  const heightOf = (node: number): number => (node < graph.size ? box.height : WAYPOINT_HEIGHT);
  const gap = (one: number, other: number): number => {
    const isNodes = one < graph.size && other < graph.size;
    return (heightOf(one) + heightOf(other)) / 2 + (isNodes ? box.gapY : box.gapY / 2);
  };
  const centre = placeRows(proper, rows, gap);

  const left = (node: number): number => (proper.layer[node] ?? 0) * (box.width + box.gapX);
  const middle = (node: number): number => (centre[node] ?? 0) + box.height / 2;
  const nodes = Array.from({ length: graph.size }, (_, node) => ({ x: left(node), y: centre[node] ?? 0 }));
  const edges = proper.routes.map((route) =>
    route.flatMap((node, index): Point[] => {
      const y = middle(node);
      if (index === 0) return [{ x: left(node) + box.width, y }];
      if (index === route.length - 1) return [{ x: left(node), y }];
      // Straight across the layer that is only passed.
      return [
        { x: left(node), y },
        { x: left(node) + box.width, y },
      ];
    }),
  );
  const bottom = centre.reduce((lowest, value) => Math.max(lowest, value), 0);
  return {
    width: Math.max(0, rows.length * (box.width + box.gapX) - box.gapX),
    height: graph.size === 0 ? 0 : bottom + box.height,
    nodes,
    edges,
  };
}

/** The line through an edge's points, as the path of an SVG: horizontal where it leaves and where it arrives. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  let path = `M${round(first.x)} ${round(first.y)}`;
  let last = first;
  for (const point of rest) {
    const middle = round((last.x + point.x) / 2);
    path +=
      last.y === point.y
        ? `H${round(point.x)}`
        : `C${middle} ${round(last.y)} ${middle} ${round(point.y)} ${round(point.x)} ${round(point.y)}`;
    last = point;
  }
  return path;
}

const round = (value: number): number => Math.round(value * 10) / 10;
