import type { ReactNode } from 'react';
import { Frame, niceTop } from './frame.js';
import './stacked.css';

export interface Layer {
  readonly name: string;
  readonly values: readonly number[];
}

/** There are colours for so many layers. */
export const LAYERS_MAX = 8;

interface StackedProps {
  readonly title: string;
  readonly from: number;
  readonly stepMs: number;
  /** From the bottom up; at most LAYERS_MAX. */
  readonly layers: readonly Layer[];
  /** On top of them, in grey: what has no layer of its own. */
  readonly rest: Layer;
  readonly format: (value: number) => string;
}

const GAP = 1;

/** What adds up to a whole, over time: bars of as many parts as there are layers. */
export function Stacked({ title, from, stepMs, layers, rest, format }: StackedProps): ReactNode {
  const all = [
    ...layers.map((layer, index) => ({ ...layer, className: `layer-${index}` })),
    { ...rest, className: 'layer-rest' },
  ];
  const steps = Math.max(rest.values.length, 1);
  const totals = rest.values.map((_, step) => all.reduce((sum, { values }) => sum + (values[step] ?? 0), 0));
  const entries = all
    .filter(({ values }) => values.some((n) => n > 0))
    .map(({ name, className, values }) => ({
      ...{ name, className, values },
      sign: <span className="swatch" aria-hidden="true" />,
    }));
  return (
    <Frame
      title={title}
      summary={entries.map(({ name, values }) => `${name}: ${format(sumOf(values))}`).join('; ')}
      {...{ from, stepMs, steps, format, entries }}
      top={niceTop(Math.max(0, ...totals))}
      isPoint={false}
    >
      {({ x, y, step }) =>
        totals.map((_, index) => {
          let below = 0;
          return all.map(({ name, className, values }) => {
            const n = values[index] ?? 0;
            if (n === 0) return null;
            const bottom = below;
            below += n;
            return (
              <rect
                key={`${index} ${name}`}
                className={`bar ${className}`}
                x={x(index) - step / 2 + GAP / 2}
                width={Math.max(step - GAP, 0.5)}
                y={y(below)}
                height={y(bottom) - y(below)}
              />
            );
          });
        })
      }
    </Frame>
  );
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, n) => sum + n, 0);
