import type { AdminQueue, AdminQueues } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Loaded } from '../../components/notes.js';
import { Panel } from '../../components/page.js';
import { PauseSwitch } from '../../components/pausing/pause-switch.js';
import { State } from '../../components/state.js';
import { heldColumns } from '../../components/tables/held-columns.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { number, roughly } from '../../lib/format.js';
import { pausedFor } from '../../lib/attention.js';
import { sizeOf } from '../../lib/held.js';
import { settingsWords } from '../../lib/limits.js';
import { useMayWrite } from '../../session/session.js';
import { SettingsDialog } from './queue-settings.js';
import { TenantLink } from './tenant-link.js';

/** Queues over all tenants, with those that hold most of each, and the switch that pauses one. */
export function AdminQueuesPanel(): ReactNode {
  const read = useRead<AdminQueues>('/admin/queues');
  const mayWrite = useMayWrite();
  const [limiting, setLimiting] = useState<AdminQueue | null>(null);
  const columns = [...COLUMNS, ...(mayWrite ? [actionColumn(setLimiting)] : [])];
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
    </Panel>
  );
}

const COLUMNS: readonly Column<AdminQueue>[] = [
  {
    key: 'queue',
    title: 'Queue',
    cell: (row) => (
      <span className="row">
        <b>{row.queue}</b> {row.paused_at !== null && <PausedMark row={row} />}
      </span>
    ),
  },
  ...heldColumns<AdminQueue>(),
  {
    key: 'oldest',
    title: 'Oldest due',
    numeric: true,
    cell: ({ oldest_pending_age_secs: age }) => (age === null ? '–' : roughly(age * 1000)),
  },
  {
    key: 'asked',
    title: 'Last asked',
    numeric: true,
    cell: ({ last_lease_at }) => <Time at={last_lease_at} otherwise="not in 24 h" />,
  },
  { key: 'limits', title: 'Limits', cell: ({ settings }) => <Limits words={settingsWords(settings)} /> },
  { key: 'tenants', title: 'Largest tenants', cell: (row) => <Holders queue={row} /> },
];

/** Why and by whom, in small. */
function PausedMark({ row }: { readonly row: AdminQueue }): ReactNode {
  const reason = pausedFor(row);
  return (
    <span>
      <State state="paused" /> {reason !== null && <span className="quiet paused-for">{reason}</span>}
    </span>
  );
}

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

/** The rest is there on hover. */
const HOLDERS_NAMED = 2;

function Holders({ queue }: { readonly queue: AdminQueue }): ReactNode {
  const held = queue.tenants.map((tenant) => ({ tenant_id: tenant.tenant_id, n: sizeOf(tenant) }));
  return (
    <span title={held.map(({ tenant_id, n }) => `${tenant_id}: ${n}`).join('\n')}>
      {held.slice(0, HOLDERS_NAMED).map(({ tenant_id, n }) => (
        <span key={tenant_id} className="holder">
          <TenantLink tenant={tenant_id} /> <span className="quiet figures">{number(n)}</span>
        </span>
      ))}
      {held.length > HOLDERS_NAMED && <span className="quiet">+{held.length - HOLDERS_NAMED}</span>}
    </span>
  );
}

const actionColumn = (limit: (queue: AdminQueue) => void): Column<AdminQueue> => ({
  key: 'do',
  title: 'Action',
  cell: (row) => (
    <span className="buttons">
      <button type="button" className="button small" aria-label={`Limits of ${row.queue}`} onClick={() => limit(row)}>
        Limits…
      </button>
      <PauseSwitch
        queue={row.queue}
        isPaused={row.paused_at !== null}
        tenants={row.tenants.map(({ tenant_id }) => tenant_id)}
      />
    </span>
  ),
});
