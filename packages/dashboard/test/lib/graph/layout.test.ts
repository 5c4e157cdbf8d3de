import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { layersOf, type Graph } from '../../../src/lib/graph/layers.js';
import { layOut, pathOf } from '../../../src/lib/graph/layout.js';
import { crossings, orderRows } from '../../../src/lib/graph/order.js';
import { toProper } from '../../../src/lib/graph/proper.js';

const BOX = { width: 160, height: 32, gapX: 48, gapY: 12 };

/** Any graph without cycles: edges lead from lower to higher numbers. */
const anyGraph: fc.Arbitrary<Graph> = fc.integer({ min: 0, max: 40 }).chain((size) =>
  fc.array(fc.tuple(fc.nat(Math.max(0, size - 1)), fc.nat(Math.max(0, size - 1))), { maxLength: 80 }).map((pairs) => ({
    size,
    edges: pairs.filter(([a, b]) => a !== b).map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b)]),
  })),
);

/** Numbers that look random and are the same on every run. */
function sequence(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

describe('a layered drawing', () => {
  it('draws everything behind what it depends on', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const layer = layersOf(graph);
        const { nodes } = layOut(graph, BOX);
        for (const [from, to] of graph.edges) {
          expect(layer[to]).toBeGreaterThan(layer[from]!);
          expect(nodes[to]!.x).toBeGreaterThan(nodes[from]!.x + BOX.width);
        }
      }),
    );
  });

  it('draws no box over another, and all of them within its size', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const { nodes, width, height } = layOut(graph, BOX);
        const byLayer = new Map<number, number[]>();
        for (const { x, y } of nodes) {
          expect(y).toBeGreaterThanOrEqual(0);
          expect(x + BOX.width).toBeLessThanOrEqual(width);
          expect(y + BOX.height).toBeLessThanOrEqual(height + 1e-6);
          byLayer.set(x, [...(byLayer.get(x) ?? []), y]);
        }
        for (const places of byLayer.values()) {
          places.sort((a, b) => a - b);
          for (let i = 1; i < places.length; i++) {
            expect(places[i]! - places[i - 1]!).toBeGreaterThanOrEqual(BOX.height + BOX.gapY - 1e-6);
          }
        }
      }),
    );
  });

  it('leads each edge from its start to its end, always to the right', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const { nodes, edges } = layOut(graph, BOX);
        graph.edges.forEach(([from, to], index) => {
          const points = edges[index]!;
          expect(points[0]).toEqual({ x: nodes[from]!.x + BOX.width, y: nodes[from]!.y + BOX.height / 2 });
          expect(points.at(-1)).toEqual({ x: nodes[to]!.x, y: nodes[to]!.y + BOX.height / 2 });
          for (let i = 1; i < points.length; i++) expect(points[i]!.x).toBeGreaterThan(points[i - 1]!.x);
        });
      }),
    );
  });

  it('never makes crossings more, and untangles what can be untangled', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const proper = toProper(graph);
        expect(crossings(proper, orderRows(proper))).toBeLessThanOrEqual(crossings(proper, proper.rows));
      }),
    );
    const tangled: Graph = { size: 6, edges: [[0, 5], [1, 4], [2, 3]] }; // prettier-ignore
    const proper = toProper(tangled);
    expect(crossings(proper, orderRows(proper))).toBe(0);
  });

  it('counts crossings as a person would', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const proper = toProper(graph);
        const place = new Map(proper.rows.flatMap((row) => row.map((node, index) => [node, index])));
        const links = proper.below.flatMap((ends, start) => ends.map((end) => [start, end] as const));
        let count = 0;
        links.forEach(([a, b], index) => {
          for (const [c, d] of links.slice(index + 1)) {
            if (proper.layer[a] !== proper.layer[c]) continue;
            if ((place.get(a)! - place.get(c)!) * (place.get(b)! - place.get(d)!) < 0) count++;
          }
        });
        expect(crossings(proper, proper.rows)).toBe(count);
      }),
    );
  });

  it('draws a cycle rather than failing', () => {
    const { nodes } = layOut({ size: 3, edges: [[0, 1], [1, 2], [2, 1]] }, BOX); // prettier-ignore
    expect(nodes).toHaveLength(3);
  });

  it('gives up on waypoints before they fill the memory', () => {
    // A chain of 1000 steps with 19,000 shortcuts: millions of waypoints, if each were drawn.
    const below = sequence(11);
    const chain = Array.from({ length: 999 }, (_, i): [number, number] => [i, i + 1]);
    const shortcuts = Array.from({ length: 19_000 }, (): [number, number] => {
      const from = below(900);
      return [from, from + 2 + below(90)];
    });
    const { edges, nodes } = layOut({ size: 1000, edges: [...chain, ...shortcuts] }, BOX);
    expect(nodes).toHaveLength(1000);
    expect(edges.every((points) => points.length === 2)).toBe(true);
  });
});

it('a path is horizontal where it leaves and where it arrives', () => {
  expect(pathOf([{ x: 0, y: 0 }, { x: 10, y: 20 }])).toBe('M0 0C5 0 5 20 10 20'); // prettier-ignore
  expect(pathOf([{ x: 0, y: 4 }, { x: 10, y: 4 }])).toBe('M0 4H10'); // prettier-ignore
  expect(pathOf([])).toBe('');
});
