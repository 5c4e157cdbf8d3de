import type { ReactNode } from 'react';
import type { Tone } from '../../lib/states.js';
import { Frame, type Scale } from './frame.js';
import { secondsTop } from './scale.js';

export interface Line {
  readonly name: string;
  readonly tone: Tone;
  /** Lines differ in their dashes too, for eyes that do not tell the colours apart. */
  readonly dash?: string;
  /** Whether the area below it is filled. */
  readonly area?: boolean;
  /** Seconds. */
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  readonly from: number;
  readonly stepMs: number;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
}

/** Times over time, as lines. What is far above all else is marked at the upper edge instead of flattening the rest. */
export function Chart({ title, from, stepMs, lines, format }: ChartProps): ReactNode {
  const steps = Math.max(...lines.map(({ values }) => values.length), 1);
  const top = secondsTop(lines.map(({ values }) => values));
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
    <Frame title={title} summary={summary(lines, format)} {...{ from, stepMs, steps, top, format, entries }} isPoint>
      {(scale) => (
        <>
          {lines.map((line) => (
            <LineMarks key={line.name} line={line} top={top} scale={scale} />
          ))}
          <Outliers {...{ lines, top, scale, format }} />
        </>
      )}
    </Frame>
  );
}

interface LineMarksProps {
  readonly line: Line;
  readonly top: number;
  readonly scale: Scale;
}

function LineMarks({ line: { tone, dash, area = false, values }, top, scale: { x, y } }: LineMarksProps): ReactNode {
  const within = values.map((value) => (value === null ? null : Math.min(value, top)));
  return (
    <g className={`tone-${tone}`}>
      {area && <path className="area" d={areaPath(within, x, y)} />}
      <path className="line" strokeDasharray={dash} d={linePath(within, x, y)} />
      {lonePoints(within).map((index) => (
        <circle key={index} className="point" cx={x(index)} cy={y(within[index] ?? 0)} r={3} />
      ))}
    </g>
  );
}

/** So many outliers are marked, the largest first. */
const OUTLIERS_MAX = 24;

interface OutliersProps {
  readonly lines: readonly Line[];
  readonly top: number;
  readonly scale: Scale;
  readonly format: (value: number) => string;
}

/** What stands above the end of the axis: a mark at the edge, the largest with its value. */
function Outliers({ lines, top, scale: { x, y, width }, format }: OutliersProps): ReactNode {
  const above = lines
    .flatMap(({ tone, values }) => values.map((value, index) => ({ tone, index, value: value ?? 0 })))
    .filter(({ value }) => value > top)
    .sort((one, other) => other.value - one.value)
    .slice(0, OUTLIERS_MAX);
  const [largest] = above;
  if (largest === undefined) return null;
  const place = x(largest.index);
  const isRight = place > width / 2;
  return (
    <g className="outliers">
      {above.map(({ tone, index }) => (
        <path key={`${tone} ${index}`} className={`outlier tone-${tone}`} d={`M${x(index)} ${y(top) - 7}l4 7h-8z`} />
      ))}
      <text
        className="mark outlier-value"
        x={isRight ? place - 8 : place + 8}
        y={y(top) - 3}
        textAnchor={isRight ? 'end' : 'start'}
      >
        up to {format(largest.value)}
      </text>
    </g>
  );
}

/** Values between two gaps: a line would not show them. */
export const lonePoints = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, index) =>
    value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null ? [index] : [],
  );

type Place = (value: number) => number;

/** Gaps stay gaps. */
export function linePath(values: readonly (number | null)[], x: Place, y: Place): string {
  const parts: string[] = [];
  let drawing = false;
  values.forEach((value, index) => {
    if (value === null) {
      drawing = false;
      return;
    }
    parts.push(`${drawing ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`);
    drawing = true;
  });
  return parts.join('');
}

/** The same down to the axis, stretch by stretch. */
function areaPath(values: readonly (number | null)[], x: Place, y: Place): string {
  const parts: string[] = [];
  let begin = -1;
  [...values, null].forEach((value, index) => {
    if (value !== null && begin < 0) begin = index;
    if (value !== null || begin < 0) return;
    const line = linePath([...Array<null>(begin).fill(null), ...values.slice(begin, index)], x, y);
    parts.push(`${line}L${x(index - 1).toFixed(1)} ${y(0)}L${x(begin).toFixed(1)} ${y(0)}Z`);
    begin = -1;
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
  readonly values: readonly (number | null)[];
  /** Also shown on hover. */
  readonly label: string;
  readonly tone?: Tone;
  /** Beside a figure that says the same: as wide as its place, and silent. */
  readonly isDecoration?: boolean;
}

const WIDE = 96;
const HIGH = 24;

/** A small line without axes, for a cell of a table or a card. */
export function Sparkline({ values, label, tone = 'accent', isDecoration = false }: SparklineProps): ReactNode {
  const top = Math.max(0, ...values.filter((value) => value !== null)) || 1;
  const x: Place = (index) => 2 + (index / Math.max(values.length - 1, 1)) * (WIDE - 4);
  const y: Place = (value) => HIGH - 2 - (value / top) * (HIGH - 5);
  const drawing = (
    <svg
      className={`sparkline tone-${tone}`}
      viewBox={`0 0 ${WIDE} ${HIGH}`}
      width={WIDE}
      height={HIGH}
      {...(isDecoration ? { preserveAspectRatio: 'none', 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      <path className="area" d={areaPath(values, x, y)} />
      <path className="line" d={linePath(values, x, y)} vectorEffect="non-scaling-stroke" />
    </svg>
  );
  return isDecoration ? drawing : <span title={label}>{drawing}</span>;
}
