import type { Series } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead, type Since } from '../../api/hooks.js';
import { duration, number } from '../../lib/format.js';
import { Chart, SECONDS, type Line } from './chart.js';
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
    <Loaded read={series} what="Plots">
      {({ from, step_secs, columns }) => {
        const axis = { from: Date.parse(from), stepMs: step_secs * 1000 };
        return (
          <div className="columns">
            <section className="panel">
              <Chart
                title={`Jobs per ${duration(step_secs * 1000)}`}
                {...axis}
                format={number}
                lines={[
                  { name: 'created', tone: 'grey', dash: '4 3', values: columns.created },
                  { name: 'completed', tone: 'green', values: columns.completed },
                  { name: 'retried', tone: 'amber', dash: '6 2 1 2', values: columns.retried },
                  { name: 'failed', tone: 'red', dash: '1 2', values: columns.failed },
                ]}
              />
            </section>
            <section className="panel">
              <Chart title={timesTitle} {...axis} format={seconds} tops={SECONDS} lines={times(columns)} />
            </section>
          </div>
        );
      }}
    </Loaded>
  );
}
