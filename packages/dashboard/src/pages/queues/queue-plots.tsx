import type { Series } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Chart } from '../../components/chart.js';
import { Loaded } from '../../components/notes.js';
import { duration, number } from '../../lib/format.js';

/** A plot changes when the server has written the next step. */
const PLOT_POLL_MS = 15_000;

const seconds = (value: number): string => duration(value * 1000);

/** The last hour of one queue: its rate, how long its jobs waited, and how long they ran. */
export function QueuePlots({ queue }: { readonly queue: string }): ReactNode {
  const read = useRead<Series>('/series', { query: { queue }, pollMs: PLOT_POLL_MS, keepPrevious: false });
  return (
    <Loaded read={read} what="Plots">
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
                  { name: 'failed', tone: 'red', dash: '1 2', values: columns.failed },
                ]}
              />
            </section>
            <section className="panel">
              <Chart
                title="Time, 95 per cent below"
                {...axis}
                format={seconds}
                lines={[
                  { name: 'waited', tone: 'amber', dash: '4 3', values: columns.wait_p95 },
                  { name: 'ran', tone: 'blue', values: columns.run_p95 },
                ]}
              />
            </section>
          </div>
        );
      }}
    </Loaded>
  );
}
