import type { Series } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead, type Since } from '../../api/hooks.js';
import { serverNow } from '../../lib/clock.js';
import { duration, number, perWords } from '../../lib/format.js';
import { Chart, type Line } from './chart.js';
import { barsOf } from './scale.js';
import { Stacked } from './stacked.js';
import { Loaded } from '../notes.js';

/** A plot changes when the server has written the next step. */
const PLOT_POLL_MS = 15_000;

interface SeriesPlotsProps {
  readonly query?: Readonly<Record<string, string>>;
  /** The last hour unless it is given. */
  readonly since?: Since | undefined;
  /** Whether the old plots stay while others are read. */
  readonly keepPrevious?: boolean;
  readonly timesTitle: string;
  readonly times: (columns: Series['columns']) => readonly Line[];
}

const seconds = (value: number): string => duration(value * 1000);

/** What happened over time: how many jobs, and how long they took to begin or to end. */
export function SeriesPlots({ query, since, keepPrevious = true, timesTitle, times }: SeriesPlotsProps): ReactNode {
  const series = useRead<Series>('/series', { query, since, pollMs: PLOT_POLL_MS, keepPrevious });
  return (
    <Loaded read={series} what="Plots" shape="plot">
      {({ from, step_secs, columns }) => {
        const { sums, longest, whole, ...bars } = barsOf(
          Date.parse(from),
          step_secs,
          columns.created.length,
          serverNow(),
        );
        const created = sums(columns.created);
        const lines = times(columns).map((line) => ({ ...line, values: longest(line.values) }));
        return (
          <div className="columns">
            <section className="panel">
              <Stacked
                title={`Jobs per ${perWords(bars.stepMs)}`}
                {...bars}
                steps={created.length}
                whole={whole}
                format={number}
                layers={[
                  { name: 'completed', tone: 'green', values: sums(columns.completed) },
                  { name: 'retried', tone: 'amber', values: sums(columns.retried) },
                  { name: 'failed', tone: 'red', values: sums(columns.failed) },
                ]}
                line={{ name: 'created', values: created }}
              />
            </section>
            <section className="panel">
              <Chart title={timesTitle} {...bars} format={seconds} lines={lines} />
            </section>
          </div>
        );
      }}
    </Loaded>
  );
}
