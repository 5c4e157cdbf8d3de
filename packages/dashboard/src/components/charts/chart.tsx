import type { ReactNode } from 'react';
import type { Tone } from '../../lib/states.js';
import { Frame, niceTop } from './frame.js';

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

/** A time series as lines. */
export function Chart({ title, from, stepMs, lines, format, tops = [] }: ChartProps): ReactNode {
  const steps = Math.max(...lines.map(({ values }) => values.length), 1);
  const largest = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const entries = lines.map(({ name, tone, dash, values }) => ({
    name,
    className: `tone-${tone}`,
    sign: (
      <svg width="16" height="8" aria-hidden="true">
        <line x1="0" x2="16" y1="4" y2="4" className="line" strokeDasharray={dash} />
      </svg>
    ),
    values,
  }));
  return (
    <Frame
      title={title}
      summary={summary(lines, format)}
      {...{ from, stepMs, steps, format, entries }}
      top={tops.find((end) => end >= largest) ?? niceTop(largest)}
      isPoint
    >
      {({ x, y }) =>
        lines.map(({ name, tone, dash, values }) => (
          <path key={name} className={`line tone-${tone}`} strokeDasharray={dash} d={linePath(values, x, y)} />
        ))
      }
    </Frame>
  );
}

/** Gaps stay gaps; a value between two gaps becomes a dot. */
export function linePath(
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
        <path className="line" d={linePath(values, x, y)} />
      </svg>
    </span>
  );
}
