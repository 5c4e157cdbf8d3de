import type { AdminQueue, AdminQueues } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh, useRead } from '../../api/hooks.js';
import { Confirm } from '../../components/dialogs/confirm.js';
import { Loaded } from '../../components/notes.js';
import { Panel } from '../../components/page.js';
import { State } from '../../components/state.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { say, sayError } from '../../components/toasts.js';
import { number, roughly } from '../../lib/format.js';
import { settingsWords } from '../../lib/limits.js';
import { useMayWrite } from '../../session/session.js';
import { SettingsDialog } from './queue-settings.js';

/** Queues over all tenants, with those that hold most of each, and the switch that pauses one. */
export function AdminQueuesPanel(): ReactNode {
  const read = useRead<AdminQueues>('/admin/queues');
  const mayWrite = useMayWrite();
  const [pausing, setPausing] = useState<AdminQueue | null>(null);
  const [limiting, setLimiting] = useState<AdminQueue | null>(null);
  const columns = [...COLUMNS, ...(mayWrite ? [actionColumn(setPausing, setLimiting)] : [])];
  return (
    <Panel title="Queues">
      <Loaded read={read} what="Queues">
        {({ queues }) =>
          queues.length === 0 ? (
            <p className="quiet">No queue holds unfinished jobs.</p>
          ) : (
            <Table label="Queues of all tenants" rows={queues} columns={columns} idOf={({ queue }) => queue} />
          )
        }
      </Loaded>
      {limiting !== null && <SettingsDialog queue={limiting} onClose={() => setLimiting(null)} />}
      {pausing !== null && <PauseDialog queue={pausing} onClose={() => setPausing(null)} />}
    </Panel>
  );
}

const request = (queue: string, verb: 'pause' | 'resume'): Change => ({
  method: 'POST',
  path: `/admin/queues/${encodeURIComponent(queue)}/${verb}`,
});

const COLUMNS: readonly Column<AdminQueue>[] = [
  {
    key: 'queue',
    title: 'Queue',
    cell: ({ queue, paused_at }) => (
      <span className="row">
        <b>{queue}</b> {paused_at !== null && <State state="paused" />}
      </span>
    ),
  },
  { key: 'waiting', title: 'Waiting', numeric: true, cell: ({ pending }) => number(pending) },
  { key: 'scheduled', title: 'Scheduled', numeric: true, cell: ({ scheduled }) => number(scheduled) },
  { key: 'retrying', title: 'Retrying', numeric: true, cell: ({ retrying }) => number(retrying) },
  { key: 'running', title: 'Running', numeric: true, cell: ({ running }) => number(running) },
  {
    key: 'oldest',
    title: 'Oldest',
    numeric: true,
    cell: ({ oldest_pending_age_secs: age }) => (age === null ? '–' : roughly(age * 1000)),
  },
  {
    key: 'asked',
    title: 'Last asked',
    numeric: true,
    cell: ({ last_lease_at }) => <Time at={last_lease_at} otherwise="not today" />,
  },
  { key: 'limits', title: 'Limits', cell: ({ settings }) => <Limits words={settingsWords(settings)} /> },
  { key: 'tenants', title: 'Largest tenants', wide: true, cell: (row) => <Holders queue={row} /> },
];

const Limits = ({ words }: { readonly words: readonly string[] }): ReactNode =>
  words.length === 0 ? (
    '–'
  ) : (
    <ul className="limits">
      {words.map((word) => (
        <li key={word}>{word}</li>
      ))}
    </ul>
  );

function Holders({ queue }: { readonly queue: AdminQueue }): ReactNode {
  const held = queue.tenants.map(({ tenant_id, pending, scheduled, running }) => ({
    tenant_id,
    n: pending + scheduled + running,
  }));
  return (
    <span title={held.map(({ tenant_id, n }) => `${tenant_id}: ${n}`).join('\n')}>
      {held.map(({ tenant_id, n }) => (
        <span key={tenant_id} className="holder">
          {tenant_id} <span className="quiet figures">{number(n)}</span>
        </span>
      ))}
    </span>
  );
}

type Choose = (queue: AdminQueue) => void;

const actionColumn = (pause: Choose, limit: Choose): Column<AdminQueue> => ({
  key: 'do',
  title: 'Action',
  cell: (row) => (
    <span className="buttons">
      <button type="button" className="button small" aria-label={`Limits of ${row.queue}`} onClick={() => limit(row)}>
        Limits…
      </button>
      <PauseButton row={row} pause={pause} />
    </span>
  ),
});

const PauseButton = ({ row, pause }: { readonly row: AdminQueue; readonly pause: Choose }): ReactNode =>
  row.paused_at === null ? (
    <button type="button" className="button small" aria-label={`Pause ${row.queue}`} onClick={() => pause(row)}>
      Pause…
    </button>
  ) : (
    <button type="button" className="button small" aria-label={`Resume ${row.queue}`} onClick={() => resume(row.queue)}>
      Resume
    </button>
  );

function resume(queue: string): void {
  change(request(queue, 'resume'))
    .then(async () => {
      say(`${queue} is resumed.`);
      await refresh();
    })
    .catch(sayError);
}

/** Pausing stops the work of every tenant: it is asked about although it can be undone. */
function PauseDialog({
  queue: { queue, tenants },
  onClose,
}: {
  readonly queue: AdminQueue;
  readonly onClose: () => void;
}): ReactNode {
  const pause = async (): Promise<void> => {
    await change(request(queue, 'pause'));
    say(`${queue} is paused.`, [{ label: 'Undo', run: () => resume(queue) }]);
    await refresh();
  };
  return (
    <Confirm
      title={`Pause ${queue}?`}
      verb={`Pause ${queue}`}
      danger
      request={request(queue, 'pause')}
      onConfirm={pause}
      onClose={onClose}
    >
      <p>
        No worker gets another job of this queue until it is resumed; what runs goes on. This concerns every tenant
        {tenants.length > 0 && `: ${tenants.map(({ tenant_id }) => tenant_id).join(', ')}`}.
      </p>
    </Confirm>
  );
}
