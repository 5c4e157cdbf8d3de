import type { JobSummary } from '@millrace/contract';
import type { ReactNode } from 'react';
import { JobLink, QueueLink, WorkflowLink } from '../../components/links.js';
import { Menu } from '../../components/menu.js';
import { State } from '../../components/state.js';
import type { Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import type { Address } from '../../lib/address.js';
import { bytes, duration, number } from '../../lib/format.js';
import { keptStore } from '../../lib/kept.js';
import { stateOf } from '../../lib/states.js';
import { useStore } from '../../lib/store.js';
import { useAddress } from '../../lib/routing.js';

/** All that a row can show, in the order of the table. */
export const columnsAt = (now: number, gone: ReadonlySet<string>): readonly Column<JobSummary>[] => [
  {
    key: 'state',
    title: 'State',
    cell: (job) =>
      gone.has(job.id) ? <span title="No longer in this list">… left</span> : <State state={stateOf(job, now)} />,
  },
  { key: 'task', title: 'Task', cell: ({ id, task_name }) => <JobLink id={id}>{task_name}</JobLink> },
  { key: 'id', title: 'Id', cell: ({ id }) => <JobLink id={id} /> },
  { key: 'queue', title: 'Queue', cell: ({ queue_name }) => <QueueLink queue={queue_name} /> },
  { key: 'worker', title: 'Worker', hiddenOnCards: true, cell: ({ worker_id }) => worker_id ?? '–' },
  { key: 'key', title: 'Key', hiddenOnCards: true, cell: ({ idempotency_key: key }) => key ?? '–' },
  {
    key: 'workflow',
    title: 'Workflow',
    hiddenOnCards: true,
    cell: ({ workflow_id: id, workflow_step_id: step }) =>
      id === null ? '–' : <WorkflowLink id={id}>{step ?? undefined}</WorkflowLink>,
  },
  {
    key: 'error',
    title: 'Error',
    wide: true,
    cell: ({ error_message }) => error_message !== null && <span title={error_message}>{error_message}</span>,
  },
  { key: 'priority', title: 'Priority', numeric: true, cell: ({ config }) => number(config.priority) },
  {
    key: 'attempts',
    title: 'Attempts',
    numeric: true,
    cell: ({ delivery_count, config }) => `${number(delivery_count)}/${number(config.max_retries + 1)}`,
  },
  { key: 'took', title: 'Took', numeric: true, cell: (job) => tookOf(job, now) },
  {
    key: 'size',
    title: 'Payload',
    numeric: true,
    hiddenOnCards: true,
    cell: ({ payload_bytes }) => bytes(payload_bytes),
  },
  { key: 'due', title: 'Due', numeric: true, cell: ({ scheduled_at }) => <Time at={scheduled_at} /> },
  { key: 'ended', title: 'Ended', numeric: true, cell: ({ completed_at }) => <Time at={completed_at} /> },
  { key: 'created', title: 'Created', numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** How long the latest attempt took, or has been taking. */
function tookOf({ started_at, completed_at, status }: JobSummary, now: number): string {
  if (started_at === null) return '–';
  const end = completed_at ?? (status === 'running' ? new Date(now).toISOString() : null);
  return end === null ? '–' : duration(Date.parse(end) - Date.parse(started_at));
}

const CHOICES = columnsAt(0, new Set()).map(({ key, title }) => ({ key, title }));
/** There is no list without it: by the task one opens a job. */
const ALWAYS = 'task';
const AT_FIRST = ['state', 'task', 'id', 'queue', 'error', 'attempts', 'took', 'created'];

/** The names in a text; those that there are no columns for are left out. */
const parse = (text: string | null | undefined): readonly string[] => {
  const names = new Set((text ?? '').split(','));
  return CHOICES.map(({ key }) => key).filter((key) => key === ALWAYS || names.has(key));
};

/** The last choice, for addresses that name no columns. */
const lastChosen = keptStore<string>('job-columns', (text) => text ?? AT_FIRST.join(), String);

/** The columns to show, as a text: those of the address, or else those that were last chosen in this browser. */
export function useColumnNames({ columns }: Address): string {
  const last = useStore(lastChosen);
  return parse(columns ?? last).join();
}

/** Which columns the list shows. */
export function ColumnMenu({ shown }: { readonly shown: string }): ReactNode {
  const [, setAddress] = useAddress();
  const names = shown.split(',');
  const choose = (chosen: readonly string[]): void => {
    const columns = parse(chosen.join()).join();
    lastChosen.set(columns);
    setAddress({ columns }, { replace: true });
  };
  return (
    <Menu icon="columns" label="Columns" title="Which columns the list shows">
      {() => (
        <fieldset className="column-choice">
          <legend className="visually-hidden">Columns</legend>
          {CHOICES.map(({ key, title }) => (
            <label key={key} className="tick">
              <input
                type="checkbox"
                checked={names.includes(key)}
                disabled={key === ALWAYS}
                onChange={(event) =>
                  choose(event.target.checked ? [...names, key] : names.filter((name) => name !== key))
                }
              />
              {title}
            </label>
          ))}
          <button type="button" className="button small" onClick={() => choose(AT_FIRST)}>
            Reset
          </button>
        </fieldset>
      )}
    </Menu>
  );
}
