import type { ReactNode } from 'react';
import { SeriesPlots } from '../../components/charts/series-plots.js';

/** The last hour of one queue: its rate, how long its jobs waited, and how long they ran. */
export function QueuePlots({ queue }: { readonly queue: string }): ReactNode {
  return (
    <SeriesPlots
      query={{ queue }}
      keepPrevious={false}
      timesTitle="Times, 95th percentile"
      times={(columns) => [
        { name: 'waited', tone: 'amber', dash: '4 3', values: columns.wait_p95 },
        { name: 'ran', tone: 'blue', values: columns.run_p95 },
      ]}
    />
  );
}
