import type { WorkflowStep, WorkflowStepDefinition } from '@millrace/contract';
import { memo, useMemo, useRef, type MouseEvent, type ReactNode } from 'react';
import { DrawnIcon, Icon } from '../../components/icon.js';
import { Panel } from '../../components/page.js';
import { pathOf } from '../../lib/graph/layout.js';
import { plural } from '../../lib/format.js';
import { LOOKS, type AnyState } from '../../lib/states.js';
import { useDragScroll } from './drag-scroll.js';
import { BOX, MARGIN, useDrawing, type Drawing } from './drawing.js';
import { GraphMap } from './graph-map.js';
import { useZoom, type Zoom } from './use-zoom.js';

interface StepGraphProps {
  readonly definitions: readonly WorkflowStepDefinition[];
  readonly steps: readonly WorkflowStep[];
  readonly states: ReadonlyMap<string, AnyState>;
  readonly critical: ReadonlySet<string>;
  /** The critical path stands out, the rest steps back. */
  readonly isPathShown: boolean;
  readonly onShowPath: (isShown: boolean) => void;
  readonly selected: string | undefined;
  readonly onSelect: (name: string) => void;
}

const NAME_MAX = 22;

/**
 * The graph of a workflow, from left to right. The layout depends on the definition alone, so events only recolour
 * boxes; each box is drawn again only if its own step has changed.
 */
export function StepGraph(props: StepGraphProps): ReactNode {
  const { definitions, steps, states, critical, isPathShown, onShowPath, selected, onSelect } = props;
  const drawing = useDrawing(definitions);
  const failed = useFailed(steps);
  const frame = useRef<HTMLDivElement>(null);
  useDragScroll(frame);
  const active = useMemo(() => steps.find(({ status }) => status === 'running')?.name, [steps]);
  const view = useZoom(frame, drawing, selected ?? active);
  const { width, height } = drawing;
  const onClick = (event: MouseEvent): void => {
    const name = (event.target as Element).closest('[data-step]')?.getAttribute('data-step');
    if (name !== null && name !== undefined) onSelect(name);
  };
  return (
    <Panel
      title="Graph"
      aside={
        <>
          <span className="quiet">{plural(definitions.length, 'step')}</span>
          <button
            type="button"
            className="button small"
            aria-pressed={isPathShown}
            disabled={critical.size === 0}
            title="The chain of steps that decided how long it took"
            onClick={() => onShowPath(!isPathShown)}
          >
            <Icon name="path" size={14} /> Critical path
          </button>
          <ZoomTools view={view} />
        </>
      }
    >
      <div className="graph">
        <div
          className="graph-frame"
          ref={frame}
          style={{ flexBasis: view.height }}
          tabIndex={0}
          role="region"
          aria-label="Graph of the steps"
        >
          <svg
            className={isPathShown ? 'path-shown' : undefined}
            width={width * view.zoom}
            height={height * view.zoom}
            viewBox={`${-MARGIN} ${-MARGIN} ${width} ${height}`}
            aria-hidden="true"
            onClick={onClick}
          >
            <Edges drawing={drawing} critical={critical} failed={failed} />
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
        {view.isLong && <GraphMap frame={frame} drawing={drawing} states={states} zoom={view.zoom} />}
      </div>
    </Panel>
  );
}

const ZoomTools = ({ view }: { readonly view: Zoom }): ReactNode => (
  <span className="graph-tools" role="group" aria-label="Zoom">
    <button type="button" className="button small" onClick={view.fit}>
      <Icon name="fit" size={14} /> Fit
    </button>
    <button type="button" className="button small" aria-label="Smaller" onClick={view.smaller}>
      <Icon name="minus" size={14} />
    </button>
    <button type="button" className="button small" aria-label="Larger" onClick={view.larger}>
      <Icon name="plus" size={14} />
    </button>
  </span>
);

/** The names of the steps that failed: the same object for as long as they are the same. */
function useFailed(steps: readonly WorkflowStep[]): ReadonlySet<string> {
  const names = steps.filter(({ status }) => status === 'failed').map(({ name }) => name);
  const key = JSON.stringify(names);
  return useMemo(() => new Set(JSON.parse(key) as string[]), [key]);
}

interface EdgesProps {
  readonly drawing: Drawing;
  readonly critical: ReadonlySet<string>;
  readonly failed: ReadonlySet<string>;
}

/** Four kinds of lines, from the back to the front. */
const KINDS = ['edge', 'edge critical', 'edge failed', 'edge failed critical'] as const;

/** One path for all edges of a kind: thousands of elements fewer than one for each. */
const Edges = memo(function Edges({ drawing, critical, failed }: EdgesProps): ReactNode {
  const paths = useMemo(() => {
    const { names, links, layout } = drawing;
    const parts = KINDS.map(() => '');
    for (const [index, points] of layout.edges.entries()) {
      const [from = '', to = ''] = (links[index] ?? []).map((number) => names[number] ?? '');
      const kind = (critical.has(from) && critical.has(to) ? 1 : 0) + (failed.has(from) || failed.has(to) ? 2 : 0);
      parts[kind] += pathOf(points);
    }
    return parts;
  }, [drawing, critical, failed]);
  return KINDS.map((kind, index) => <path key={kind} className={kind} d={paths[index]} />);
});

const ICON_PX = 14;

interface BoxProps {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly state: AnyState;
  readonly critical: boolean;
  readonly selected: boolean;
}

const Box = memo(function Box({ name, x, y, state, critical, selected }: BoxProps): ReactNode {
  const { icon, tone, word } = LOOKS[state];
  const classes = ['node', `tone-${tone}`, critical && 'critical', selected && 'selected'].filter(Boolean).join(' ');
  return (
    <g className={classes} transform={`translate(${x} ${y})`} data-step={name} data-status={state}>
      <title>{`${name}: ${word}`}</title>
      <rect width={BOX.width} height={BOX.height} rx={6} />
      <DrawnIcon name={icon} size={ICON_PX} x={9} y={(BOX.height - ICON_PX) / 2} />
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
