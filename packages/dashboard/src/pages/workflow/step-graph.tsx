import type { WorkflowStep, WorkflowStepDefinition } from '@millrace/contract';
import { memo, useLayoutEffect, useMemo, useRef, useState, type MouseEvent, type ReactNode } from 'react';
import { layOut, pathOf, type Layout } from '../../lib/graph/layout.js';
import { LOOKS, stepState, type AnyState } from '../../lib/states.js';
import { useDragScroll } from './drag-scroll.js';

interface StepGraphProps {
  readonly definitions: readonly WorkflowStepDefinition[];
  readonly steps: readonly WorkflowStep[];
  readonly critical: ReadonlySet<string>;
  readonly selected: string | undefined;
  readonly onSelect: (name: string) => void;
}

const BOX = { width: 168, height: 32, gapX: 44, gapY: 12 };
const MARGIN = 12;
const NAME_MAX = 22;
const ZOOMS = [0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5] as const;
const LEAST_ZOOM = 0.02;
const READABLE_ZOOM = 0.6;

/**
 * The graph of a workflow, from left to right. The layout depends on the definition alone, so events only recolour
 * boxes; each box is drawn again only if its own step has changed.
 */
export function StepGraph({ definitions, steps, critical, selected, onSelect }: StepGraphProps): ReactNode {
  const drawing = useDrawing(definitions);
  const waiting = useMemo(() => waitingIn(definitions), [definitions]);
  const states = useMemo(
    () => new Map(steps.map((step) => [step.name, stepState(step, waiting.has(step.name))])),
    [steps, waiting],
  );
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  useDragScroll(frame);
  const { width, height } = drawing.layout;
  const fitting = (): number => {
    const room = frame.current;
    if (room === null) return 1;
    const ratio = Math.min(room.clientWidth / (width + 2 * MARGIN), room.clientHeight / (height + 2 * MARGIN));
    return Math.min(1, Math.max(ratio, LEAST_ZOOM));
  };
  // At first whole if that is readable, scrolled otherwise.
  useLayoutEffect(() => setZoom(Math.max(fitting(), READABLE_ZOOM)), [width, height]);
  const onClick = (event: MouseEvent): void => {
    const name = (event.target as Element).closest('[data-step]')?.getAttribute('data-step');
    if (name !== null && name !== undefined) onSelect(name);
  };
  return (
    <div className="graph">
      <div className="graph-tools" role="group" aria-label="Zoom">
        <button type="button" className="button small" onClick={() => setZoom(fitting())}>
          Fit
        </button>
        <button
          type="button"
          className="button small"
          aria-label="Smaller"
          onClick={() => setZoom(ZOOMS.findLast((step) => step < zoom) ?? LEAST_ZOOM)}
        >
          −
        </button>
        <button
          type="button"
          className="button small"
          aria-label="Larger"
          onClick={() => setZoom(ZOOMS.find((step) => step > zoom) ?? zoom)}
        >
          +
        </button>
      </div>
      <div className="graph-frame" ref={frame} tabIndex={0} role="region" aria-label="Graph of the steps">
        <svg
          width={(width + 2 * MARGIN) * zoom}
          height={(height + 2 * MARGIN) * zoom}
          viewBox={`${-MARGIN} ${-MARGIN} ${width + 2 * MARGIN} ${height + 2 * MARGIN}`}
          aria-hidden="true"
          onClick={onClick}
        >
          <Edges drawing={drawing} critical={critical} />
          {drawing.names.map((name, index) => (
            <Box
              key={name}
              name={name}
              x={drawing.layout.nodes[index]?.x ?? 0}
              y={drawing.layout.nodes[index]?.y ?? 0}
              state={states.get(name) ?? 'pending'}
              critical={critical.has(name)}
              selected={name === selected}
            />
          ))}
        </svg>
      </div>
    </div>
  );
}

interface Drawing {
  readonly names: readonly string[];
  /** By number: from, to. */
  readonly links: readonly (readonly [number, number])[];
  readonly layout: Layout;
}

/** Laid out once per definition: an event brings the same definition as another object. */
function useDrawing(definitions: readonly WorkflowStepDefinition[]): Drawing {
  const shape = JSON.stringify(definitions.map(({ name, depends_on }) => [name, ...depends_on]));
  return useMemo(() => {
    const rows = JSON.parse(shape) as [string, ...string[]][];
    const numbers = new Map(rows.map(([name], index) => [name, index]));
    const links = rows.flatMap(([, ...dependencies], to) =>
      [...new Set(dependencies)].flatMap((name): [number, number][] => {
        const from = numbers.get(name);
        return from === undefined ? [] : [[from, to]];
      }),
    );
    return { names: rows.map(([name]) => name), links, layout: layOut({ size: rows.length, edges: links }, BOX) };
  }, [shape]);
}

/** Two paths for all edges: a thousand elements fewer than one for each. */
const Edges = memo(function Edges({
  drawing,
  critical,
}: {
  drawing: Drawing;
  critical: ReadonlySet<string>;
}): ReactNode {
  const { names, links, layout } = drawing;
  const isCritical = ([from, to]: readonly [number, number]): boolean =>
    critical.has(names[from] ?? '') && critical.has(names[to] ?? '');
  const pathFor = (wanted: boolean): string =>
    layout.edges
      .filter((_, index) => isCritical(links[index] ?? [0, 0]) === wanted)
      .map(pathOf)
      .join('');
  return (
    <>
      <path className="edge" d={pathFor(false)} />
      <path className="edge critical" d={pathFor(true)} />
    </>
  );
});

/** The names of steps that wait for a signal instead of running a task. */
const waitingIn = (definitions: readonly WorkflowStepDefinition[]): ReadonlySet<string> =>
  new Set(definitions.filter(({ wait }) => wait).map(({ name }) => name));

interface BoxProps {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly state: AnyState;
  readonly critical: boolean;
  readonly selected: boolean;
}

const Box = memo(function Box({ name, x, y, state, critical, selected }: BoxProps): ReactNode {
  const { shape, tone, word } = LOOKS[state];
  const classes = ['node', `tone-${tone}`, critical && 'critical', selected && 'selected'].filter(Boolean).join(' ');
  return (
    <g className={classes} transform={`translate(${x} ${y})`} data-step={name} data-status={state}>
      <title>{`${name}: ${word}`}</title>
      <rect width={BOX.width} height={BOX.height} rx={4} />
      <text x={10} y={BOX.height / 2} className="shape">
        {shape}
      </text>
      <text x={28} y={BOX.height / 2}>
        {shortened(name)}
      </text>
    </g>
  );
});

const shortened = (name: string): string => {
  const letters = [...name];
  return letters.length <= NAME_MAX ? name : `${letters.slice(0, NAME_MAX - 1).join('')}…`;
};
