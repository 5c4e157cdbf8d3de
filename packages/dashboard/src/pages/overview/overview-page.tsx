import type { Counts, CronPage, JobState } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { NeedsAttention } from '../../components/attention/needs-attention.js';
import { CountFigure } from '../../components/figure.js';
import { Icon } from '../../components/icon.js';
import { Link } from '../../components/links.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page, Panel } from '../../components/page.js';
import { sinceOf } from '../../components/since.js';
import { Time } from '../../components/time.js';
import { State } from '../../components/state.js';
import { curlOf } from '../../api/curl.js';
import { QueueTable } from '../../components/tables/queue-table.js';
import { useQueues } from '../../components/tables/use-queues.js';
import { SeriesPlots } from '../../components/charts/series-plots.js';
import { SpanCards } from './span-cards.js';
import './overview.css';
import { useAddress } from '../../lib/routing.js';

const SPANS = ['15m', '1h', '24h', '30d'] as const;
const COMING_UP = 5;

export default function OverviewPage(): ReactNode {
  const [address] = useAddress();
  const span = SPANS.find((known) => known === address.span) ?? '1h';
  const isNew = useIsNew();
  return (
    <Page title="Overview" actions={<SpanTabs chosen={span} />}>
      <NeedsAttention span={span} />
      {isNew && <QueuesPanel />}
      <SpanCards span={span} />
      <Plots span={span} />
      <StateTiles />
      <div className={isNew ? undefined : 'columns uneven'}>
        {!isNew && <QueuesPanel />}
        <ComingUp />
      </div>
    </Page>
  );
}

/** Nothing has ever run: how to begin comes before figures that are all zero. */
function useIsNew(): boolean {
  const { data } = useRead<Counts>('/counts');
  return data !== undefined && [...Object.values(data.jobs), data.dead_letters].every(({ n }) => n === 0);
}

const SpanTabs = ({ chosen }: { readonly chosen: string }): ReactNode => (
  <nav className="choices" aria-label="Time span">
    {SPANS.map((span) => (
      <Link
        key={span}
        to="/"
        search={{ span }}
        className="button small"
        aria-current={span === chosen ? 'true' : undefined}
      >
        {span}
      </Link>
    ))}
  </nav>
);

const TILES: readonly JobState[] = ['pending', 'scheduled', 'running', 'retrying', 'completed', 'failed', 'cancelled'];

function StateTiles(): ReactNode {
  const counts = useRead<Counts>('/counts');
  return (
    <Panel title="Jobs by state" aside={<span className="quiet">all that are kept</span>}>
      <Loaded read={counts} what="Counts" shape="tiles">
        {({ jobs, dead_letters }) => (
          <ul className="tiles now" aria-label="Jobs by state">
            {TILES.map((state) => (
              <li key={state}>
                <Link to="/jobs" search={{ status: state === 'pending' ? 'waiting' : state }}>
                  <State state={state} />
                  <CountFigure of={jobs[state]} />
                </Link>
              </li>
            ))}
            <li>
              <Link to="/dead-letters">
                <span className="state tone-grey">
                  <Icon name="deadLetters" size={14} />
                  dead letters
                </span>
                <CountFigure of={dead_letters} />
              </Link>
            </li>
          </ul>
        )}
      </Loaded>
    </Panel>
  );
}

function Plots({ span }: { readonly span: string }): ReactNode {
  return (
    <SeriesPlots
      since={sinceOf('from', span)}
      timesTitle="Waiting time"
      times={(columns) => [
        { name: 'p50', tone: 'blue', area: true, values: columns.wait_p50 },
        { name: 'p95', tone: 'amber', dash: '4 3', values: columns.wait_p95 },
        { name: 'p99', tone: 'red', dash: '1 2', values: columns.wait_p99 },
      ]}
    />
  );
}

function QueuesPanel(): ReactNode {
  const queues = useQueues();
  return (
    <Panel title="Queues">
      <Loaded read={queues} what="Queues">
        {(data) =>
          data.queues.length === 0 ? (
            <Empty
              icon="queues"
              title="No job is waiting or running"
              curl={curlOf({ method: 'POST', path: '/jobs', body: '{"task_name":"echo","payload":{"n":1}}' })}
            >
              A queue appears with its first job. Paste this into a terminal, and watch it run here:
            </Empty>
          ) : (
            <>
              <QueueTable queues={data.queues} isShort />
              {data.has_more === true && <p className="quiet">The first ones by name; there are more.</p>}
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}

function ComingUp(): ReactNode {
  const crons = useRead<CronPage>('/cron', { query: { order_by: 'next_run_at ASC', limit: 20 }, pollMs: 10_000 });
  return (
    <Panel title="Coming up" aside={<Link to="/cron">All schedules</Link>}>
      <Loaded read={crons} what="Schedules">
        {(page) => {
          const next = page.crons
            .filter(({ enabled, next_run_at }) => enabled && next_run_at !== null)
            .slice(0, COMING_UP);
          if (next.length === 0) return <p className="quiet">No schedule is due.</p>;
          return (
            <ol className="coming">
              {next.map(({ id, name, task_name, next_run_at }) => (
                <li key={id}>
                  <Time at={next_run_at} />
                  <Link to="/cron" search={{ name }}>
                    {name}
                  </Link>
                  <span className="quiet cut">{task_name}</span>
                </li>
              ))}
            </ol>
          );
        }}
      </Loaded>
    </Panel>
  );
}
