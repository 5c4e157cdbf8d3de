import { lazy, Suspense, useMemo, useState, type ReactNode } from 'react';
import type { Query } from '../../api/client.js';
import { curlOf } from '../../api/curl.js';
import { Icon } from '../../components/icon.js';
import { Empty, ErrorNote, Loading } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { spanMs } from '../../components/tables/filters.js';
import { Pager } from '../../components/tables/pager.js';
import { ExactTime } from '../../components/time.js';
import type { Address } from '../../lib/address.js';
import { serverNow } from '../../lib/clock.js';
import { useMayWrite } from '../../session/session.js';
import { BulkBar } from './bulk-bar.js';
import { ColumnMenu, useColumnNames } from './job-columns.js';
import { JobFilters } from './job-filters.js';
import { hasFilter, jobQuery } from './job-query.js';
import { JobTable } from './job-table.js';
import { useLiveList, type LiveList } from './live-list.js';
import { selectionOf, useChosenRows, type RowSelection } from './selection.js';
import { ViewMenu, ViewName } from './view-menu.js';
import './jobs.css';
import { useAddress } from '../../lib/routing.js';

const NewJob = lazy(() => import('./new-job.js'));

export default function JobsPage(): ReactNode {
  const [address, setAddress] = useAddress();
  const [live, setLive] = useState(true);
  const mayWrite = useMayWrite();
  const query = useJobQuery(address);
  const chosen = useChosenRows(JSON.stringify({ ...query, cursor: undefined }));
  const isSelecting = chosen.ids.size > 0;
  const list = useLiveList(query, live && !isSelecting);
  const selection = selectionOf(chosen, list.rows);
  const columns = useColumnNames(address);
  return (
    <Page
      title="Jobs"
      aside={<ViewName />}
      actions={
        <>
          <LiveButton live={live} isSelecting={isSelecting} onClick={() => setLive(!live)} />
          {mayWrite && (
            <button type="button" className="button primary" onClick={() => setAddress({ new: '1' })}>
              New job
            </button>
          )}
        </>
      }
    >
      <JobFilters isListShown={list.read.data !== undefined} />
      <div className="above-list">
        {isSelecting ? (
          <BulkBar selection={selection} rows={list.rows} isFiltered={hasFilter(address)} query={query} />
        ) : (
          <>
            <NewRows list={list} live={live} />
            <div className="list-tools">
              <ViewMenu />
              <ColumnMenu shown={columns} />
            </div>
          </>
        )}
      </div>
      {list.read.error !== null && <ErrorNote error={list.read.error} />}
      <JobList
        list={list}
        isFiltered={hasFilter(address)}
        columns={columns}
        selection={mayWrite ? selection : undefined}
      />
      {address.new !== undefined && mayWrite && (
        <Suspense>
          <NewJob onClose={() => setAddress({ new: undefined, from: undefined })} />
        </Suspense>
      )}
    </Page>
  );
}

/** A span begins where it began when it was chosen. */
function useJobQuery(address: Address): Query {
  const { since } = address;
  const createdAfter = useMemo(() => {
    const span = spanMs(since);
    return span === undefined ? undefined : new Date(serverNow() - span).toISOString();
  }, [since]);
  return jobQuery(address, createdAfter);
}

interface LiveButtonProps {
  readonly live: boolean;
  readonly isSelecting: boolean;
  readonly onClick: () => void;
}

const LiveButton = ({ live, isSelecting, onClick }: LiveButtonProps): ReactNode => (
  <button
    type="button"
    className="button"
    aria-pressed={live}
    onClick={onClick}
    title={live ? 'Refreshes every two seconds' : 'Does not refresh'}
  >
    <Icon name={live && !isSelecting ? 'dot' : 'pause'} size={14} />
    {!live ? 'paused' : isSelecting ? 'paused while selecting' : 'live'}
  </button>
);

/** How many rows have been created since, for whoever wants to see them. */
function NewRows({ list, live }: { readonly list: LiveList; readonly live: boolean }): ReactNode {
  if (list.fresh === 0) {
    return (
      <span className="quiet">
        Newest first.
        {live && <span className="if-roomy"> New jobs are counted here until you show them.</span>}
      </span>
    );
  }
  return (
    <button type="button" className="button fresh" onClick={list.showFresh}>
      <Icon name="arrowUp" /> {list.freshIsMore ? `${list.fresh}+` : list.fresh} new
    </button>
  );
}

interface JobListProps {
  readonly list: LiveList;
  readonly isFiltered: boolean;
  readonly columns: string;
  readonly selection: RowSelection | undefined;
}

function JobList({ list, isFiltered, columns, selection }: JobListProps): ReactNode {
  const { data: page, error, isPlaceholder } = list.read;
  if (page === undefined) return error === null && <Loading />;
  return (
    <div className={isPlaceholder ? 'dimmed' : undefined}>
      <div className="panel job-list">
        {list.rows.length === 0 ? (
          <NoJobs isFiltered={isFiltered} more={page.has_more} />
        ) : (
          <JobTable rows={list.rows} gone={list.gone} columns={columns} selection={selection} />
        )}
      </div>
      {page.searched_to !== undefined && <SearchCut to={page.searched_to} next={page.next_cursor} />}
      <Pager page={page} />
    </div>
  );
}

interface SearchCutProps {
  readonly to: string;
  readonly next: string | undefined;
}

/** No index serves some filters: the server looks at so many jobs, says how far it came, and goes on when asked to. */
function SearchCut({ to, next }: SearchCutProps): ReactNode {
  const [, setAddress] = useAddress();
  return (
    <p className="note tone-blue search-cut" role="status">
      <span>
        Searched back to <ExactTime at={to} />. Older jobs have not been looked at.
      </span>
      {next !== undefined && (
        <button type="button" className="button small" onClick={() => setAddress({ cursor: next })}>
          Search on
        </button>
      )}
    </p>
  );
}

function NoJobs({ isFiltered, more }: { readonly isFiltered: boolean; readonly more: boolean }): ReactNode {
  if (more) return <Empty>Nothing found so far.</Empty>;
  if (isFiltered) return <Empty>No job matches these filters.</Empty>;
  const body = '{"task_name":"echo","payload":{"hello":"world"}}';
  return (
    <Empty icon="jobs" title="No job yet" curl={curlOf({ method: 'POST', path: '/jobs', body })}>
      A job is a task, its payload and a queue. This creates one that every server knows how to run:
    </Empty>
  );
}
