import type { WorkflowSummary, WorkflowSummaryPage } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { SelectFilter, SpanFilter, TextFilter } from '../../components/tables/filters.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { sinceOf } from '../../components/since.js';
import { StepBar, type StepCounts } from '../../components/state-bar.js';
import { State } from '../../components/state.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { useNow } from '../../lib/clock.js';
import { curlOf } from '../../api/curl.js';
import { duration } from '../../lib/format.js';
import { Meter } from '../../components/charts/meter.js';
import './workflows.css';
import { go, useAddress } from '../../lib/routing.js';
import { Link } from '../../components/links.js';

const STATUSES = ['created', 'running', 'completed', 'failed', 'partially_failed', 'cancelled'] as const;

export default function WorkflowsPage(): ReactNode {
  const [{ status, name, since, cursor }] = useAddress();
  const read = useRead<WorkflowSummaryPage>('/workflows', {
    query: { view: 'summary', status, name, cursor },
    since: sinceOf('created_after', since),
  });
  const isFiltered = [status, name, since].some((filter) => filter !== undefined);
  return (
    <Page title="Workflows">
      <div className="filters">
        <SelectFilter
          name="status"
          label="State"
          any="any state"
          options={STATUSES.map((value) => [value, value.replaceAll('_', ' ')] as const)}
        />
        <TextFilter name="name" label="Name" placeholder="Name" first />
        <SpanFilter />
      </div>
      <Loaded read={read} what="Workflows">
        {(page) =>
          page.workflows.length === 0 ? (
            <NoWorkflows isFiltered={isFiltered} isCut={page.searched_to !== undefined} />
          ) : (
            <WorkflowTable rows={page.workflows} />
          )
        }
      </Loaded>
      {read.data !== undefined && <Pager page={read.data} />}
    </Page>
  );
}

const NoWorkflows = ({ isFiltered, isCut }: { readonly isFiltered: boolean; readonly isCut: boolean }): ReactNode =>
  isFiltered || isCut ? (
    <Empty>
      No workflow matches.
      {isCut && ' The search is not finished: continue with the next page.'}
    </Empty>
  ) : (
    <Empty icon="workflows" title="No workflow yet" curl={example()}>
      A workflow is several steps, each a job that begins when those before it have ended. This creates one:
    </Empty>
  );

const example = (): string =>
  curlOf({
    method: 'POST',
    path: '/workflows',
    body: JSON.stringify({
      name: 'order',
      steps: [
        { name: 'reserve', task_name: 'echo' },
        { name: 'ship', task_name: 'echo', depends_on: ['reserve'] },
      ],
    }),
  });

function WorkflowTable({ rows }: { readonly rows: readonly WorkflowSummary[] }): ReactNode {
  return (
    <div className="panel">
      <Table
        label="Workflows"
        rows={rows}
        columns={COLUMNS}
        idOf={({ id }) => id}
        onOpen={({ id }) => go(`/workflows/${id}`)}
      />
    </div>
  );
}

const COLUMNS: readonly Column<WorkflowSummary>[] = [
  { key: 'state', title: 'State', cell: ({ status }) => <State state={status} /> },
  {
    key: 'name',
    title: 'Workflow',
    wide: true,
    cell: (row) => (
      <>
        <Link to={`/workflows/${row.id}`}>{row.name}</Link>
        <FailedStep workflow={row} />
      </>
    ),
  },
  { key: 'progress', title: 'Steps', cell: (row) => <Steps workflow={row} /> },
  { key: 'took', title: 'Took', numeric: true, cell: (row) => <Took workflow={row} /> },
  { key: 'created', title: 'Created', numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** Servers of earlier versions say neither which states the steps are in nor which of them failed. */
interface Row extends Pick<WorkflowSummary, 'id' | 'steps_ended' | 'steps_total'> {
  readonly steps_by_status?: StepCounts;
  readonly failed_step?: { readonly name: string; readonly error: string | null } | null;
}

function Steps({ workflow }: { readonly workflow: Row }): ReactNode {
  const { steps_by_status: counts, steps_ended: ended, steps_total: total } = workflow;
  return counts === undefined ? <Meter done={ended} of={total} /> : <StepBar counts={counts} />;
}

/** Where it went wrong, and why: the first thing that one wants to know of a workflow that failed. */
function FailedStep({ workflow: { id, failed_step: failed } }: { readonly workflow: Row }): ReactNode {
  if (failed === undefined || failed === null) return null;
  return (
    <div className="failed-step tone-red" title={failed.error ?? undefined}>
      <Link to={`/workflows/${id}`} search={{ step: failed.name }}>
        {failed.name}
      </Link>
      {failed.error === null ? ' failed' : `: ${failed.error}`}
    </div>
  );
}

function Took({ workflow }: { readonly workflow: WorkflowSummary }): ReactNode {
  const now = useNow();
  const { created_at, completed_at } = workflow;
  return duration((completed_at === null ? now : Date.parse(completed_at)) - Date.parse(created_at));
}
