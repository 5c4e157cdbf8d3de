import type { ReactNode } from 'react';
import type { Tone } from '../../lib/states.js';
import { linePath } from './chart.js';
import { Frame } from './frame.js';
import { niceTop, type Whole } from './scale.js';
import './stacked.css';

export interface Layer {
  readonly name: string;
  readonly values: readonly number[];
  /** Its colour, if it means something; otherwise one after the other. */
  readonly tone?: Tone;
}

/** There are colours for so many layers. */
export const LAYERS_MAX = 8;

interface StackedProps {
  readonly title: string;
  readonly from: number;
  readonly stepMs: number;
  readonly steps: number;
  /** The others are not complete: they are drawn as such. */
  readonly whole: Whole;
  /** From the bottom up; at most LAYERS_MAX. */
  readonly layers: readonly Layer[];
  /** On top of them, in grey: what has no layer of its own. */
  readonly rest?: Layer;
  /** A line across the bars, to compare them with. */
  readonly line?: Layer;
  readonly format: (value: number) => string;
}

/** What adds up to a whole, over time: bars of as many parts as there are layers. */
export function Stacked({ title, from, stepMs, steps, whole, layers, rest, line, format }: StackedProps): ReactNode {
  const all = [
    ...layers.map((layer, index) => ({
      ...layer,
      className: layer.tone === undefined ? `layer-${index}` : `layer-tone tone-${layer.tone}`,
    })),
    ...(rest === undefined ? [] : [{ ...rest, className: 'layer-rest' }]),
  ];
  const totals = Array.from({ length: steps }, (_, step) =>
    all.reduce((sum, { values }) => sum + (values[step] ?? 0), 0),
  );
  const shown = all.filter(({ tone, values }) => tone !== undefined || values.some((n) => n > 0));
  const entries = shown.map(({ name, className, values }) => ({
    ...{ name, className, values },
    sign: <span className="swatch" aria-hidden="true" />,
  }));
  const across = line === undefined ? [] : [{ ...line, className: 'tone-plain', sign: <LineSign /> }];
  const legend = [...entries, ...across];
  return (
    <Frame
      title={title}
      summary={legend.map(({ name, values }) => `${name}: ${format(sumOf(values))}`).join('; ')}
      {...{ from, stepMs, format }}
      steps={Math.max(steps, 1)}
      entries={legend}
      top={niceTop(Math.max(0, ...totals, ...(line?.values ?? [])))}
      isPoint={false}
    >
      {({ x, y, step }) => {
        const gap = step > 8 ? 2 : step > 3 ? 1 : 0;
        return (
          <>
            {totals.map((_, index) => {
              const partly = isWhole(whole, index) ? '' : ' partly';
              let below = 0;
              return all.map(({ name, className, values }) => {
                const n = values[index] ?? 0;
                if (n === 0) return null;
                const bottom = below;
                below += n;
                return (
                  <rect
                    key={`${index} ${name}`}
                    className={`bar ${className}${partly}`}
                    x={x(index) - step / 2 + gap / 2}
                    width={Math.max(step - gap, 0.5)}
                    y={y(below)}
                    height={Math.max(y(bottom) - y(below), 1)}
                  />
                );
              });
            })}
            {line !== undefined && (
              <path className="line tone-plain thin" d={linePath(wholeOf(line.values, whole), x, y)} />
            )}
          </>
        );
      }}
    </Frame>
  );
}

const isWhole = ([first, end]: Whole, index: number): boolean => index >= first && index < end;

/** A line that fell to what there is of a bar would say that less happened. */
const wholeOf = (values: readonly number[], whole: Whole): (number | null)[] =>
  values.map((value, index) => (isWhole(whole, index) ? value : null));

const LineSign = (): ReactNode => (
  <svg width="16" height="8" aria-hidden="true">
    <line x1="0" x2="16" y1="4" y2="4" className="line thin" />
  </svg>
);

const sumOf = (values: readonly number[]): number => values.reduce((sum, n) => sum + n, 0);
