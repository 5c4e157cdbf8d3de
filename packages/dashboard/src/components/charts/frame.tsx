import { useId, useState, type PointerEvent, type ReactNode } from 'react';
import { clock, dayAndClock } from '../../lib/format.js';
import { useZone } from '../../lib/preferences.js';

/** Where a value of a step is drawn. */
export interface Scale {
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
  /** The room of one step. */
  readonly step: number;
}

/** One entry of the legend: a sign, a name, and the values it has. */
export interface Entry {
  readonly name: string;
  readonly className: string;
  readonly sign: ReactNode;
  readonly values: readonly (number | null)[];
}

interface FrameProps {
  readonly title: string;
  /** What is to be seen, for those who do not see it. */
  readonly summary: string;
  readonly from: number;
  readonly stepMs: number;
  readonly steps: number;
  /** The end of the axis of values. */
  readonly top: number;
  readonly format: (value: number) => string;
  readonly entries: readonly Entry[];
  /** Whether a step is a point, or takes room. */
  readonly isPoint: boolean;
  readonly children: (scale: Scale) => ReactNode;
}

const DAY_MS = 86_400_000;

const WIDTH = 600;
const HEIGHT = 140;
const LEFT = 52;
const RIGHT = 8;
const BOTTOM = 20;
const TOP = 8;
const ACROSS = WIDTH - LEFT - RIGHT;

/** What every plot over time has: three marks on each axis, a legend, and the values under the pointer in it. */
export function Frame(props: FrameProps): ReactNode {
  const { title, summary, from, stepMs, steps, top, format, entries, isPoint, children } = props;
  const zone = useZone();
  const heading = useId();
  const [at, setAt] = useState<number | null>(null);
  const instant = steps * stepMs <= DAY_MS ? clock : dayAndClock;
  const step = isPoint ? ACROSS / Math.max(steps - 1, 1) : ACROSS / steps;
  const first = isPoint ? LEFT : LEFT + step / 2;
  const x = (index: number): number => first + index * step;
  const y = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const onMove = (event: PointerEvent<SVGSVGElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * WIDTH;
    setAt(Math.min(Math.max(Math.round((place - first) / step), 0), steps - 1));
  };
  return (
    <figure className="chart" aria-labelledby={heading}>
      <figcaption>
        <span id={heading}>{title}</span>
        <span className="legend">
          {at !== null && <span className="quiet figures">{dayAndClock(from + at * stepMs, zone)}</span>}
          {entries.map(({ name, className, sign, values }) => {
            const value = at === null ? null : (values[at] ?? null);
            return (
              <span key={name} className={className}>
                {sign}
                {name}
                {value !== null && <b className="figures"> {format(value)}</b>}
              </span>
            );
          })}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${title}: ${summary}`}
        onPointerMove={onMove}
        onPointerLeave={() => setAt(null)}
      >
        {[0, top / 2, top].map((mark) => (
          <g key={mark}>
            <line className="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y(mark)} y2={y(mark)} />
            <text className="mark" x={LEFT - 6} y={y(mark) + 4} textAnchor="end">
              {format(mark)}
            </text>
          </g>
        ))}
        {[0, 0.5, 1].map((part) => {
          const index = Math.round((steps - 1) * part);
          return (
            <text key={part} className="mark" x={x(index)} y={HEIGHT - 4} textAnchor={ANCHORS[part * 2]}>
              {instant(from + index * stepMs, zone)}
            </text>
          );
        })}
        {children({ x, y, step })}
        {at !== null && <line className="cursor" x1={x(at)} x2={x(at)} y1={TOP} y2={HEIGHT - BOTTOM} />}
      </svg>
    </figure>
  );
}

const ANCHORS = ['start', 'middle', 'end'] as const;

/** The smallest of 1, 2, 4 times a power of ten that is not below the value, and of which half is a whole number. */
export function niceTop(value: number): number {
  if (value <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 10].map((factor) => factor * power).find((candidate) => candidate >= value) ?? value;
}
