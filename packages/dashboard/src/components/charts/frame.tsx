import { useId, useRef, useState, type PointerEvent, type ReactNode } from 'react';
import { clock, dayAndClock } from '../../lib/format.js';
import { useZone } from '../../lib/preferences.js';
import { useWidth } from './use-width.js';

/** Where a value of a step is drawn. */
export interface Scale {
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
  /** The room of one step. */
  readonly step: number;
  readonly width: number;
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
const HEIGHT = 176;
const RIGHT = 8;
const BOTTOM = 22;
const TOP = 14;
/** Room for a character of a mark, and for one mark of the time. */
const CHARACTER = 6.4;
const MARK = 112;

/** What every plot over time has: marks on each axis, a legend, and the values under the pointer. */
export function Frame(props: FrameProps): ReactNode {
  const { title, summary, from, stepMs, steps, top, format, entries, isPoint, children } = props;
  const zone = useZone();
  const heading = useId();
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [at, setAt] = useState<number | null>(null);
  const instant = steps * stepMs <= DAY_MS ? clock : dayAndClock;
  const marks = [0, top / 2, top].map((value) => ({ value, words: format(value) }));
  const left = Math.ceil(Math.max(...marks.map(({ words }) => words.length)) * CHARACTER) + 12;
  const across = width - left - RIGHT;
  const step = isPoint ? across / Math.max(steps - 1, 1) : across / steps;
  const first = isPoint ? left : left + step / 2;
  const x = (index: number): number => first + index * step;
  const y = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const times = Math.max(2, Math.min(7, Math.floor(across / MARK)));
  const onMove = (event: PointerEvent<SVGSVGElement>): void => {
    const place = event.clientX - event.currentTarget.getBoundingClientRect().left;
    setAt(Math.min(Math.max(Math.round((place - first) / step), 0), steps - 1));
  };
  return (
    <figure className="chart" aria-labelledby={heading}>
      <figcaption>
        <span id={heading}>{title}</span>
        <span className="legend">
          {entries.map(({ name, className, sign }) => (
            <span key={name} className={className}>
              {sign}
              {name}
            </span>
          ))}
        </span>
      </figcaption>
      <div className="plot" ref={box}>
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={`${title}: ${summary}`}
          onPointerMove={onMove}
          onPointerLeave={() => setAt(null)}
        >
          {marks.map(({ value, words }) => (
            <g key={value}>
              <line className="grid" x1={left} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
              <text className="mark" x={left - 8} y={y(value) + 4} textAnchor="end">
                {words}
              </text>
            </g>
          ))}
          {Array.from({ length: times }, (_, index) => {
            const place = Math.round(((steps - 1) * index) / (times - 1));
            return (
              <text key={index} className="mark" x={x(place)} y={HEIGHT - 4} textAnchor={anchor(index, times)}>
                {instant(from + place * stepMs, zone)}
              </text>
            );
          })}
          {at !== null && (
            <rect
              className="cursor"
              x={isPoint ? x(at) - 0.5 : x(at) - step / 2}
              width={isPoint ? 1 : step}
              y={TOP}
              height={HEIGHT - BOTTOM - TOP}
            />
          )}
          {children({ x, y, step, width })}
        </svg>
        {at !== null && (
          <div
            className="tip"
            style={x(at) > width / 2 ? { insetInlineEnd: width - x(at) + 12 } : { insetInlineStart: x(at) + 12 }}
          >
            <span className="quiet figures">{dayAndClock(from + at * stepMs, zone)}</span>
            {entries.map(({ name, className, sign, values }) => {
              const value = values[at] ?? null;
              return (
                <span key={name} className={className}>
                  {sign}
                  {name} <b className="figures">{value === null ? '–' : format(value)}</b>
                </span>
              );
            })}
          </div>
        )}
      </div>
    </figure>
  );
}

const anchor = (index: number, of: number): 'start' | 'middle' | 'end' =>
  index === 0 ? 'start' : index === of - 1 ? 'end' : 'middle';
