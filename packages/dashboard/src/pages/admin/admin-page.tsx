import type { AdminOverview, AdminWorkers } from '@millrace/contract';
import type { ReactNode } from 'react';
import { isMissing, useRead } from '../../api/hooks.js';
import { CountFigure } from '../../components/figure.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page, Panel } from '../../components/page.js';
import { State } from '../../components/state.js';
import { WorkerTable } from '../../components/tables/worker-table.js';
import { roughly } from '../../lib/format.js';
import { AdminAttention } from './admin-attention.js';
import { AdminQueuesPanel } from './admin-queues.js';
import { SharesPanel } from './shares.js';
import { TenantsPanel } from './tenants.js';
import './admin.css';

const TILES = ['pending', 'scheduled', 'running', 'retrying', 'completed', 'failed', 'cancelled'] as const;

/** The operator's view: all tenants together, and pausing a queue. */
export default function AdminPage(): ReactNode {
  const overview = useRead<AdminOverview>('/admin/overview');
  if (isMissing(overview.error)) {
    return (
      <Page title="All tenants">
        <Empty>This server has no operator&apos;s view: it is older, or was started without --admin-token.</Empty>
      </Page>
    );
  }
  return (
    <Page title="All tenants" aside={overview.data !== undefined && <Version overview={overview.data} />}>
      {overview.data?.warnings?.map((warning) => (
        <p key={warning} className="note tone-red" role="status">
          {warning}
        </p>
      ))}
      <AdminAttention />
      <Loaded read={overview} what="The overview" shape="tiles">
        {(data) => <Overview data={data} />}
      </Loaded>
      <AdminQueuesPanel />
      <SharesPanel />
      <TenantsPanel />
      <WorkersPanel />
    </Page>
  );
}

const Version = ({ overview: { version } }: { readonly overview: AdminOverview }): ReactNode => (
  <span className="quiet">server {version}</span>
);

function Overview({ data }: { readonly data: AdminOverview }): ReactNode {
  const { jobs, tenants, queues, dead_letters, oldest_pending_age_secs, oldest_past_retention_secs } = data;
  const age = (secs: number | null): ReactNode => (
    <span className="figure">{secs === null ? '–' : roughly(secs * 1000)}</span>
  );
  const figures: readonly (readonly [string, ReactNode])[] = [
    ['tenants', <CountFigure of={{ n: tenants, exact: true }} />],
    ['queues', <CountFigure of={{ n: queues, exact: true }} />],
    ['dead letters', <CountFigure of={dead_letters} />],
    ['oldest due', age(oldest_pending_age_secs)],
    ['past retention', age(oldest_past_retention_secs)],
  ];
  return (
    <>
      <Panel title="Jobs by state" aside={<span className="quiet">all that are kept</span>}>
        <ul className="tiles now" aria-label="Jobs of all tenants by state">
          {TILES.map((state) => (
            <li key={state}>
              <span className="tile">
                <State state={state} />
                <CountFigure of={jobs[state]} />
              </span>
            </li>
          ))}
        </ul>
      </Panel>
      <ul className="tiles" aria-label="All tenants in figures">
        {figures.map(([name, figure]) => (
          <li key={name}>
            <span className="tile">
              <span className="quiet">{name}</span>
              {figure}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function WorkersPanel(): ReactNode {
  const read = useRead<AdminWorkers>('/admin/workers');
  return (
    <Panel title="Workers" aside={<span className="quiet">of the last hour</span>}>
      <Loaded read={read} what="Workers">
        {({ workers }) =>
          workers.length === 0 ? (
            <p className="quiet">No worker has held a job in the last hour.</p>
          ) : (
            <WorkerTable workers={workers} withoutLinks />
          )
        }
      </Loaded>
    </Panel>
  );
}
