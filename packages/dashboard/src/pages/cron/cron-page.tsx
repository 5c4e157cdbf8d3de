import type { Cron, CronPage as Crons } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { State } from '../../components/state.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { useNow } from '../../lib/clock.js';
import { curlOf } from '../../api/curl.js';
import { memberText } from '../../lib/json/spans.js';
import { useMayWrite } from '../../session/session.js';
import { useCronActions } from './actions.js';
import { CronDetails } from './details.js';
import { EditDialog, type Draft } from './edit-dialog.js';
import { FiringStrip } from './firing-strip.js';
import { useFirings } from './use-firings.js';
import { wordsOf } from './words.js';
import './cron.css';
import { useAddress } from '../../lib/routing.js';

/** Schedules: in words, what they did in the last day, and what they do next. */
export default function CronPage(): ReactNode {
  const [{ cursor, name, new: isNew }, setAddress] = useAddress();
  const mayWrite = useMayWrite();
  const read = useRead<Crons>('/cron', { query: { order_by: 'next_run_at ASC', limit: 100, cursor } });
  const [editing, setEditing] = useState<Draft | null>(null);
  const crons = read.data?.crons ?? [];
  const chosen = crons.find((cron) => cron.name === name);
  const edit = (cron: Cron): void => setEditing(draftOf(cron, read.text ?? '{}', crons.indexOf(cron)));
  return (
    <Page
      title="Cron"
      actions={
        mayWrite && (
          <button type="button" className="button primary" onClick={() => setAddress({ new: '1' })}>
            New schedule
          </button>
        )
      }
    >
      {chosen !== undefined && (
        <CronDetails
          key={chosen.id}
          cron={chosen}
          payload={memberText(read.text ?? '{}', 'crons', crons.indexOf(chosen), 'payload') ?? '{}'}
          config={memberText(read.text ?? '{}', 'crons', crons.indexOf(chosen), 'config') ?? '{}'}
          onEdit={() => edit(chosen)}
          onClose={() => setAddress({ name: undefined })}
        />
      )}
      {name !== undefined && chosen === undefined && read.data !== undefined && (
        <Empty>There is no schedule of the name {name} on this page.</Empty>
      )}
      <Loaded read={read} what="Schedules">
        {(page) =>
          page.crons.length === 0 ? (
            <Empty icon="cron" title="No schedule yet" curl={example()}>
              A schedule creates a job whenever it is due. This creates one, for three o&apos;clock every night:
            </Empty>
          ) : (
            <div className="panel">
              <CronTable crons={page.crons} onOpen={(cron) => setAddress({ name: cron.name })} />
            </div>
          )
        }
      </Loaded>
      {read.data !== undefined && <Pager page={read.data} />}
      {isNew !== undefined && (
        <EditDialog draft={null} onClose={() => setAddress({ new: undefined }, { replace: true })} />
      )}
      {editing !== null && <EditDialog draft={editing} onClose={() => setEditing(null)} />}
    </Page>
  );
}

const example = (): string =>
  curlOf({
    method: 'POST',
    path: '/cron',
    body: JSON.stringify({ name: 'nightly-report', cron_expr: '0 3 * * *', task_name: 'echo' }),
  });

/** Payload and policy as they were sent: what is not edited goes back unchanged. */
const draftOf = (cron: Cron, text: string, index: number): Draft => ({
  name: cron.name,
  expression: cron.cron_expr,
  timezone: cron.timezone,
  task: cron.task_name ?? '',
  queue: cron.queue_name ?? '',
  overlap: cron.overlap,
  workflow: cron.workflow ? (memberText(text, 'crons', index, 'workflow') ?? null) : null,
  payload: memberText(text, 'crons', index, 'payload') ?? '{}',
  config: memberText(text, 'crons', index, 'config') ?? '{}',
});

interface CronTableProps {
  readonly crons: readonly Cron[];
  readonly onOpen: (cron: Cron) => void;
}

function CronTable({ crons, onOpen }: CronTableProps): ReactNode {
  const mayWrite = useMayWrite();
  const { trigger, setEnabled } = useCronActions();
  const columns: Column<Cron>[] = [
    { key: 'state', title: 'State', cell: (cron) => <CronState cron={cron} /> },
    {
      key: 'name',
      title: 'Schedule',
      cell: (cron) => (
        <>
          <button type="button" className="link" onClick={() => onOpen(cron)}>
            {cron.name}
          </button>
          <div className="quiet cron-words">
            {wordsOf(cron.cron_expr) ?? cron.cron_expr}
            {cron.timezone === 'UTC' ? '' : `, ${cron.timezone}`}
          </div>
        </>
      ),
    },
    { key: 'strip', title: 'Last 24 hours', cell: ({ id }) => <RowStrip id={id} /> },
    {
      key: 'next',
      title: 'Next',
      numeric: true,
      cell: ({ enabled, next_run_at }) => <Time at={enabled ? next_run_at : null} />,
    },
    {
      key: 'last',
      title: 'Last',
      numeric: true,
      cell: ({ last_enqueued_at }) => <Time at={last_enqueued_at} otherwise="never" />,
    },
    ...(mayWrite
      ? [
          {
            key: 'do',
            title: 'Action',
            cell: (cron: Cron) => (
              <span className="row">
                <button
                  type="button"
                  className="button small"
                  aria-label={`Trigger ${cron.name}`}
                  onClick={() => trigger(cron)}
                >
                  Trigger
                </button>
                <button
                  type="button"
                  className="button small"
                  aria-label={`${cron.enabled ? 'Pause' : 'Resume'} ${cron.name}`}
                  onClick={() => setEnabled(cron, !cron.enabled)}
                >
                  {cron.enabled ? 'Pause' : 'Resume'}
                </button>
              </span>
            ),
          },
        ]
      : []),
  ];
  return <Table label="Schedules" rows={crons} columns={columns} idOf={({ id }) => id} onOpen={onOpen} />;
}

export function CronState({ cron }: { readonly cron: Cron }): ReactNode {
  if (cron.enabled) return <State state="scheduled">on</State>;
  return cron.next_run_at === null ? <State state="completed">ended</State> : <State state="paused" />;
}

function RowStrip({ id }: { readonly id: string }): ReactNode {
  const now = useNow();
  const { firings, error } = useFirings(id, 1);
  if (firings !== undefined) return <FiringStrip firings={firings} now={now} />;
  return <span className="quiet">{error === null ? '' : 'not known'}</span>;
}
