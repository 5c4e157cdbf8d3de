import type { WorkflowStepDefinition } from '@millrace/contract';
import { useMemo } from 'react';
import { layOut, type Layout, type Point } from '../../lib/graph/layout.js';

/** The size of a step, and the distances between steps. */
export const BOX = { width: 168, height: 32, gapX: 44, gapY: 12 } as const;
/** Around the drawing. */
export const MARGIN = 16;

export interface Drawing {
  readonly names: readonly string[];
  /** By number: from, to. */
  readonly links: readonly (readonly [number, number])[];
  readonly layout: Layout;
  /** With the margins. */
  readonly width: number;
  readonly height: number;
}

/** Laid out once per definition: an event brings the same definition as another object. */
export function useDrawing(definitions: readonly WorkflowStepDefinition[]): Drawing {
  const shape = JSON.stringify(definitions.map(({ name, depends_on }) => [name, ...depends_on]));
  return useMemo(() => drawingOf(JSON.parse(shape) as [string, ...string[]][]), [shape]);
}

function drawingOf(rows: readonly (readonly [string, ...string[]])[]): Drawing {
  const numbers = new Map(rows.map(([name], index) => [name, index]));
  const links = rows.flatMap(([, ...dependencies], to) =>
    [...new Set(dependencies)].flatMap((name): [number, number][] => {
      const from = numbers.get(name);
      return from === undefined ? [] : [[from, to]];
    }),
  );
  const layout = layOut({ size: rows.length, edges: links }, BOX);
  return {
    names: rows.map(([name]) => name),
    links,
    layout,
    width: layout.width + 2 * MARGIN,
    height: layout.height + 2 * MARGIN,
  };
}

/** The middle of a step, in the drawing with its margins; of its beginning, if there is no such step. */
export function middleOf({ names, layout, height }: Drawing, name: string | undefined): Point {
  const node = name === undefined ? undefined : layout.nodes[names.indexOf(name)];
  if (node !== undefined) return { x: MARGIN + node.x + BOX.width / 2, y: MARGIN + node.y + BOX.height / 2 };
  const first = layout.nodes.filter(({ x }) => x === 0);
  const y = first.reduce((sum, { y: top }) => sum + top, 0) / Math.max(1, first.length);
  return first.length === 0 ? { x: 0, y: height / 2 } : { x: 0, y: MARGIN + y + BOX.height / 2 };
}
