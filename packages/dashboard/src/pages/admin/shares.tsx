import type { AdminQueues, AdminSeries } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { barsOf } from '../../components/charts/scale.js';
import { LAYERS_MAX, Stacked } from '../../components/charts/stacked.js';
import { Loaded } from '../../components/notes.js';
import { Panel } from '../../components/page.js';
import { Time } from '../../components/time.js';
import { serverNow } from '../../lib/clock.js';
import { number, perWords } from '../../lib/format.js';
import { useShares } from './use-shares.js';
import { useAddress } from '../../lib/routing.js';

/** Who got how much of the work: jobs that ended in the last hours, by tenant, of one queue or of all. */
export function SharesPanel(): ReactNode {
  const [{ queue }, setAddress] = useAddress();
  const queues = useRead<AdminQueues>('/admin/queues');
  const read = useShares(queue);
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
  const { sums, longest: _, ...bars } = barsOf(Date.parse(from), step_secs, others.length, serverNow());
  const rest = sums(others);
  return (
    <>
      <Stacked
        title={`Jobs ended per ${perWords(bars.stepMs)}`}
        {...bars}
        steps={rest.length}
        layers={tenants.slice(0, LAYERS_MAX).map(({ tenant_id, ended }) => ({ name: tenant_id, values: sums(ended) }))}
        rest={{ name: 'other tenants', values: rest }}
        format={number}
      />
      {counted_from !== null && (
        <p className="quiet">
          There are too many tenants to count further back than <Time at={counted_from} />.
        </p>
      )}
    </>
  );
}
