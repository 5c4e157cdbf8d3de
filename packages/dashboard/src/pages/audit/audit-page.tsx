import type { AuditEntry, AuditPage as Audit } from '@millrace/contract';
import type { ReactNode } from 'react';
import { curlOf } from '../../api/curl.js';
import { isMissing, useRead } from '../../api/hooks.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { changesOf } from './changes.js';
import './audit.css';
import { useAddress } from '../../lib/routing.js';

/** What operators changed: who, when, what it was before and what it is now. */
export default function AuditPage(): ReactNode {
  const [{ cursor, by }, setAddress] = useAddress();
  const read = useRead<Audit>('/admin/audit', { query: { cursor, limit: 100 } });
  if (isMissing(read.error)) {
    return (
      <Page title="Audit">
        <Empty icon="audit">This server keeps no log of what operators change: it is older than the dashboard.</Empty>
      </Page>
    );
  }
  const names = [...new Set(read.data?.entries.map((entry) => entry.by))].sort();
  const filter = (
    <label>
      Operator{' '}
      <select
        className="input"
        value={by ?? ''}
        onChange={(event) => setAddress({ by: event.target.value || undefined }, { replace: true })}
      >
        <option value="">all</option>
        {by !== undefined && !names.includes(by) && <option>{by}</option>}
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
  return (
    <Page title="Audit" aside={<span className="quiet">what operators changed, newest first</span>} actions={filter}>
      <Loaded read={read} what="The log">
        {({ entries }) => <Entries entries={entries.filter((entry) => by === undefined || entry.by === by)} />}
      </Loaded>
      {read.data !== undefined && <Pager page={read.data} />}
    </Page>
  );
}

/** What an operator does that is written here: it can be undone at once. */
const PAUSE = {
  method: 'POST',
  path: '/admin/queues/mail/pause',
  body: JSON.stringify({ reason: 'the provider is down' }),
} as const;

function Entries({ entries }: { readonly entries: readonly AuditEntry[] }): ReactNode {
  if (entries.length === 0) {
    return (
      <Empty icon="audit" title="Nothing yet" curl={curlOf(PAUSE)}>
        When an operator pauses a queue, resumes it, or sets its limits, it is written here, with the name of the
        credential and what it was before. This pauses the queue mail:
      </Empty>
    );
  }
  return (
    <div className="panel">
      <Table
        label="Changes by operators"
        rows={entries}
        columns={COLUMNS}
        idOf={({ at, request_id, action, target }) => `${at} ${request_id} ${action} ${target}`}
      />
    </div>
  );
}

const WORDS: Readonly<Record<AuditEntry['action'], string>> = {
  pause_queue: 'paused the queue',
  resume_queue: 'resumed the queue',
  set_queue: 'set the limits of the queue',
  read_tenant: 'read as the tenant',
};

/** What the other columns say already. */
const SAID = ['paused_at', 'paused_by'];

const COLUMNS: readonly Column<AuditEntry>[] = [
  { key: 'when', title: 'When', brief: true, cell: ({ at }) => <Time at={at} /> },
  { key: 'by', title: 'By', brief: true, cell: ({ by }) => <b>{by}</b> },
  {
    key: 'what',
    title: 'What',
    cell: ({ action, target }) => (
      <>
        {WORDS[action]} <b>{target}</b>
      </>
    ),
  },
  { key: 'change', title: 'Change', cell: (entry) => <Changes entry={entry} /> },
  {
    key: 'request',
    title: 'Request',
    brief: true,
    hiddenOnCards: true,
    cell: ({ request_id }) => <span className="mono quiet">{request_id}</span>,
  },
];

function Changes({ entry: { before, after } }: { readonly entry: AuditEntry }): ReactNode {
  const changes = changesOf(before, after).filter(({ name }) => !SAID.includes(name));
  if (changes.length === 0) return <span className="quiet">–</span>;
  return (
    <dl className="changes">
      {changes.map(({ name, was, is }) => (
        <div key={name}>
          <dt>{name.replaceAll('_', ' ')}</dt>
          <dd>
            <del>{was}</del> <span aria-hidden="true">→</span> <ins>{is}</ins>
          </dd>
        </div>
      ))}
    </dl>
  );
}
