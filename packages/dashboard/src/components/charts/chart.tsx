import { useId, useState, type PointerEvent, type ReactNode } from 'react';
import { clock, dayAndClock } from '../../lib/format.js';
import { useZone } from '../../lib/preferences.js';
import type { Tone } from '../../lib/states.js';

export interface Line {
  readonly name: string;
  readonly tone: Tone;
  /** Lines differ in their dashes too, for eyes that do not tell the colours apart. */
  readonly dash?: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  readonly from: number;
  readonly stepMs: number;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** What the axis may end with, in rising order; multiples of ten otherwise. */
  readonly tops?: readonly number[];
}

/** Ends of an axis of seconds that read well. */
export const SECONDS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 10, 20, 40, 60, 120, 240, 600, 1200, 3600, 7200, 14400,
];
const DAY_MS = 86_400_000;

const WIDTH = 600;
const HEIGHT = 140;
const LEFT = 52;
const BOTTOM = 20;
const TOP = 8;

/** A time series: lines, three marks on each axis, and the values under the pointer in the legend. */
export function Chart({ title, from, stepMs, lines, format, tops = [] }: ChartProps): ReactNode {
  const zone = useZone();
  const heading = useId();
  const [at, setAt] = useState<number | null>(null);
  const steps = Math.max(...lines.map(({ values }) => values.length), 1);
  const largest = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const top = tops.find((end) => end >= largest) ?? niceTop(largest);
  const instant = steps * stepMs <= DAY_MS ? clock : dayAndClock;
  const x = (index: number): number => LEFT + (index / Math.max(steps - 1, 1)) * (WIDTH - LEFT - 8);
  const y = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const onMove = (event: PointerEvent<SVGSVGElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - 8);
    setAt(Math.min(Math.max(Math.round(part * (steps - 1)), 0), steps - 1));
  };
  const shown = at ?? steps - 1;
  return (
    <figure className="chart" aria-labelledby={heading}>
      <figcaption>
        <span id={heading}>{title}</span>
        <span className="legend">
          {at !== null && <span className="quiet figures">{dayAndClock(from + shown * stepMs, zone)}</span>}
          {lines.map(({ name, tone, dash, values }) => {
            const value = at === null ? null : (values[shown] ?? null);
            return (
              <span key={name} className={`tone-${tone}`}>
                <svg width="16" height="8" aria-hidden="true">
                  <line x1="0" x2="16" y1="4" y2="4" className="line" strokeDasharray={dash} />
                </svg>
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
        aria-label={`${title}: ${summary(lines, format)}`}
        onPointerMove={onMove}
        onPointerLeave={() => setAt(null)}
      >
        {[0, top / 2, top].map((mark) => (
          <g key={mark}>
            <line className="grid" x1={LEFT} x2={WIDTH - 8} y1={y(mark)} y2={y(mark)} />
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
        {lines.map(({ name, tone, dash, values }) => (
          <path key={name} className={`line tone-${tone}`} strokeDasharray={dash} d={pathOf(values, x, y)} />
        ))}
        {at !== null && <line className="cursor" x1={x(at)} x2={x(at)} y1={TOP} y2={HEIGHT - BOTTOM} />}
      </svg>
    </figure>
  );
}

const ANCHORS = ['start', 'middle', 'end'] as const;

/** Gaps stay gaps; a value between two gaps becomes a dot. */
export function pathOf(
  values: readonly (number | null)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  const parts: string[] = [];
  let drawing = false;
  values.forEach((value, index) => {
    if (value === null) {
      drawing = false;
      return;
    }
    const point = `${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    parts.push(drawing ? `L${point}` : `M${point}h0.1`);
    drawing = true;
  });
  return parts.join('');
}

/** The smallest of 1, 2, 4 times a power of ten that is not below the value, and of which half is a whole number. */
function niceTop(value: number): number {
  if (value <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 10].map((factor) => factor * power).find((candidate) => candidate >= value) ?? value;
}

/** For those who do not see the chart: the latest and the largest value of each line. */
function summary(lines: readonly Line[], format: (value: number) => string): string {
  return lines
    .map(({ name, values }) => {
      const known = values.filter((value) => value !== null);
      const last = known.at(-1);
      return last === undefined
        ? `${name}: none`
        : `${name}: last ${format(last)}, at most ${format(Math.max(...known))}`;
    })
    .join('; ');
}

interface SparklineProps {
  readonly values: readonly number[];
  /** Also shown on hover. */
  readonly label: string;
  readonly tone?: Tone;
}

/** A small line without axes, for a cell of a table. */
export function Sparkline({ values, label, tone = 'blue' }: SparklineProps): ReactNode {
  const top = Math.max(1, ...values);
  const x = (index: number): number => 1 + (index / Math.max(values.length - 1, 1)) * 94;
  const y = (value: number): number => 19 - (value / top) * 17;
  return (
    <span title={label}>
      <svg
        className={`sparkline tone-${tone}`}
        viewBox="0 0 96 20"
        width="96"
        height="20"
        role="img"
        aria-label={label}
      >
        <path className="line" d={pathOf(values, x, y)} />
      </svg>
    </span>
  );
}
