import type { AdminQueues, AdminSeries } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { LAYERS_MAX, Stacked } from '../../components/charts/stacked.js';
import { Loaded } from '../../components/notes.js';
import { Panel } from '../../components/page.js';
import { Time } from '../../components/time.js';
import { useAddress } from '../../lib/address.js';
import { duration, number } from '../../lib/format.js';

/** A step is written every 15 seconds. */
const PLOT_POLL_MS = 15_000;
const SPAN = { parameter: 'from', spanMs: 6 * 3_600_000 };

/** Who got how much of the work: jobs that ended in the last hours, by tenant, of one queue or of all. */
export function SharesPanel(): ReactNode {
  const [{ queue }, setAddress] = useAddress();
  const queues = useRead<AdminQueues>('/admin/queues');
  const read = useRead<AdminSeries>('/admin/series', { query: { queue }, since: SPAN, pollMs: PLOT_POLL_MS });
  const names = new Set(queues.data?.queues.map((each) => each.queue));
  if (queue !== undefined) names.add(queue);
  return (
    <Panel
      title="Shares of tenants"
      aside={
        <label>
          Queue{' '}
          <select
            className="input"
            value={queue ?? ''}
            onChange={(event) => setAddress({ queue: event.target.value || undefined }, { replace: true })}
          >
            <option value="">all</option>
            {[...names].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      }
    >
      <Loaded read={read} what="Shares">
        {(series) => <Shares series={series} />}
      </Loaded>
    </Panel>
  );
}

function Shares({ series }: { readonly series: AdminSeries }): ReactNode {
  const { from, step_secs, tenants, others, counted_from } = series;
  if (tenants.length === 0) return <p className="quiet">No job has ended in the last hours.</p>;
  return (
    <>
      <Stacked
        title={`Jobs ended per ${duration(step_secs * 1000)}`}
        from={Date.parse(from)}
        stepMs={step_secs * 1000}
        layers={tenants.slice(0, LAYERS_MAX).map(({ tenant_id, ended }) => ({ name: tenant_id, values: ended }))}
        rest={{ name: 'other tenants', values: others }}
        format={number}
      />
      {counted_from !== null && (
        <p className="quiet">
          There are too many tenants to count all of it: nothing is counted before <Time at={counted_from} />.
        </p>
      )}
    </>
  );
}
