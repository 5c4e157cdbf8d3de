import type { CreateOperation, DeadLetter, DeadLetterPage, OperationFilter } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { BulkDialog } from '../../components/dialogs/bulk.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Pager } from '../../components/tables/pager.js';
import { State } from '../../components/state.js';
import { Table, type Column, type Selection } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import type { Address } from '../../lib/address.js';
import { plural } from '../../lib/format.js';
import { useMayWrite } from '../../session/session.js';
import { REASONS } from '../../lib/dead-letter-reasons.js';
import { beginOf, sinceOf } from '../../components/since.js';
import { go, useAddress } from '../../lib/routing.js';
import { Link } from '../../components/links.js';

const FILTERS = ['queue_name', 'task_name', 'reason', 'replayed', 'fingerprint', 'job_id'] as const;

/** Dead letters one by one. While some are selected the list stands still. */
export function EntryList(): ReactNode {
  const [address] = useAddress();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const filters = Object.fromEntries(FILTERS.map((name) => [name, address[name]]));
  const read = useRead<DeadLetterPage>('/dlq', {
    query: { ...filters, cursor: address.cursor },
    since: sinceOf('created_after', address.since),
    ...(selected.size > 0 && { pollMs: null }),
  });
  return (
    <>
      <FilterNote address={address} />
      <Loaded read={read} what="Dead letters">
        {(page) =>
          page.dead_letters.length === 0 ? (
            <Empty>
              No dead letter matches.
              {page.searched_to !== undefined && ' The search is not finished: continue with the next page.'}
            </Empty>
          ) : (
            <Entries entries={page.dead_letters} selected={selected} setSelected={setSelected} />
          )
        }
      </Loaded>
      {read.data !== undefined && <Pager page={read.data} />}
    </>
  );
}

/** What the address narrows the list to and no field shows. */
function FilterNote({ address }: { readonly address: Address }): ReactNode {
  const [, setAddress] = useAddress();
  const { fingerprint, job_id } = address;
  if (fingerprint === undefined && job_id === undefined) return null;
  return (
    <p className="row narrowed">
      {fingerprint !== undefined ? 'One group: ' : 'One job: '}
      <span className="mono">{fingerprint ?? job_id}</span>
      <button
        type="button"
        className="button small"
        onClick={() => setAddress({ fingerprint: undefined, job_id: undefined, cursor: undefined, view: 'entries' })}
      >
        Show all
      </button>
    </p>
  );
}

interface EntriesProps {
  readonly entries: readonly DeadLetter[];
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (selected: ReadonlySet<string>) => void;
}

function Entries({ entries, selected, setSelected }: EntriesProps): ReactNode {
  const [address] = useAddress();
  const mayWrite = useMayWrite();
  const [choice, setChoice] = useState<Pick<CreateOperation, 'filter' | 'ids'> | null>(null);
  const ids = entries.map(({ id }) => String(id));
  const toggle = (id: string): void => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const all = ids.every((id) => selected.has(id));
  const selection: Selection = {
    has: (id) => selected.has(id),
    toggle,
    all,
    toggleAll: () => setSelected(all ? new Set() : new Set(ids)),
  };
  const matching = operationFilter(address);
  return (
    <>
      {mayWrite && (
        <div className="row replays">
          <button
            type="button"
            className="button small"
            disabled={selected.size === 0}
            onClick={() => setChoice({ ids: [...selected] })}
          >
            {selected.size === 0 ? 'Replay selected…' : `Replay ${plural(selected.size, 'entry', 'entries')}…`}
          </button>
          <button type="button" className="button small" onClick={() => setChoice({ filter: matching })}>
            Replay all that match…
          </button>
          {selected.size > 0 && <span className="quiet">The list does not change while entries are selected.</span>}
        </div>
      )}
      <div className="panel">
        <Table
          label="Dead letters"
          rows={entries}
          columns={COLUMNS}
          idOf={({ id }) => String(id)}
          selection={mayWrite ? selection : undefined}
          rowClass={({ replayed_at }) => (replayed_at === null ? undefined : 'gone')}
          onOpen={({ id }) => go(`/dead-letters/${id}`)}
        />
      </div>
      {choice !== null && (
        <BulkDialog
          title={choice.ids === undefined ? 'Replay everything that matches' : 'Replay the selected dead letters'}
          verb="Replay"
          noun="dead letter"
          operation={{ action: 'replay_dead_letters', ...choice }}
          onClose={() => {
            setChoice(null);
            setSelected(new Set());
          }}
        />
      )}
    </>
  );
}

/** The list's parameters as an operation's filter. It must not be empty: what is open is the least it says. */
function operationFilter(address: Address): OperationFilter {
  const filter: Record<string, string | boolean> = { replayed: false };
  for (const name of FILTERS) {
    const value = address[name];
    if (value !== undefined && name !== 'replayed') filter[name] = value;
  }
  const created_after = beginOf(address.since);
  if (created_after !== undefined) filter.created_after = created_after;
  return filter;
}

const COLUMNS: readonly Column<DeadLetter>[] = [
  {
    key: 'state',
    title: 'State',
    cell: ({ replayed_at }) => (replayed_at === null ? <State state="failed">open</State> : <State state="replayed" />),
  },
  {
    key: 'what',
    title: 'What failed',
    wide: true,
    cell: ({ id, task_name, error_message }) => (
      <Link to={`/dead-letters/${id}`}>
        <b>{task_name}</b> <span className="group-message">{error_message ?? 'no message'}</span>
      </Link>
    ),
  },
  { key: 'queue', title: 'Queue', cell: ({ queue_name }) => queue_name },
  { key: 'reason', title: 'Reason', brief: true, cell: ({ reason }) => REASONS[reason] },
  { key: 'retries', title: 'Retries', numeric: true, cell: ({ retry_count }) => retry_count ?? '–' },
  { key: 'at', title: 'Failed', numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
];
