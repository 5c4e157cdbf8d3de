import type { DeadLetterGroup, DeadLetterGroups } from '@millrace/contract';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { BulkDialog } from '../../components/dialogs/bulk.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Pager } from '../../components/tables/pager.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { useAddress } from '../../lib/address.js';
import { curlOf } from '../../api/curl.js';
import { number } from '../../lib/format.js';
import { useMayWrite } from '../../session/session.js';
import { REASONS } from './reasons.js';
import { spanWords } from '../../components/tables/filters.js';
import { beginOf, sinceOf } from '../../components/since.js';
import { lineSpan, TaskLine, useTaskFailures } from './task-line.js';

/** What broke: entries of one task, one reason and one kind of error together, the newest first. */
export function GroupList(): ReactNode {
  const [{ task_name, queue_name, since, cursor }] = useAddress();
  const read = useRead<DeadLetterGroups>('/dlq/groups', {
    query: { task_name, queue_name, cursor },
    since: sinceOf('since', since),
  });
  const isFiltered = [task_name, queue_name, since].some((filter) => filter !== undefined);
  return (
    <>
      <Loaded read={read} what="Groups">
        {({ groups }) => (groups.length === 0 ? <NoGroups isFiltered={isFiltered} /> : <GroupTable groups={groups} />)}
      </Loaded>
      {read.data !== undefined && <Pager page={read.data.data} />}
    </>
  );
}

const NoGroups = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode =>
  isFiltered ? (
    <Empty>No dead letter matches.</Empty>
  ) : (
    <Empty
      curl={curlOf({
        method: 'POST',
        path: '/jobs',
        body: JSON.stringify({ task_name: 'fail', payload: { message: 'on purpose', permanent: true } }),
      })}
    >
      No job has failed for good. This makes one:
    </Empty>
  );

function GroupTable({ groups }: { readonly groups: readonly DeadLetterGroup[] }): ReactNode {
  const [replaying, setReplaying] = useState<DeadLetterGroup | null>(null);
  const [{ queue_name, since }] = useAddress();
  const mayWrite = useMayWrite();
  const navigate = useNavigate();
  const failures = useTaskFailures(groups, queue_name, since);
  const columns: Column<DeadLetterGroup>[] = [
    {
      key: 'count',
      title: 'Count',
      numeric: true,
      cell: ({ count }) => <span className="group-count">{number(count)}</span>,
    },
    {
      key: 'what',
      title: 'What failed',
      wide: true,
      cell: (group) => (
        <Link to="/dead-letters" search={{ ...within(queue_name, since), fingerprint: group.fingerprint } as never}>
          <b>{group.task_name}</b> <span className="group-message">{group.message ?? 'no message'}</span>
        </Link>
      ),
    },
    { key: 'reason', title: 'Reason', cell: ({ reason }) => REASONS[reason] },
    {
      key: 'line',
      title: capital(spanWords(lineSpan(since))),
      hiddenOnCards: true,
      cell: ({ task_name: task }) => <TaskLine task={task} failures={failures.get(task)} since={since} />,
    },
    {
      key: 'first',
      title: 'First',
      numeric: true,
      hiddenOnCards: true,
      cell: ({ first_at }) => <Time at={first_at} />,
    },
    { key: 'last', title: 'Last', numeric: true, cell: ({ last_at }) => <Time at={last_at} /> },
    {
      key: 'do',
      title: 'Action',
      cell: (group) => (
        <span className="row">
          <Link
            className="button small"
            to="/dead-letters/$id"
            params={{ id: String(group.latest_id) }}
            aria-label={`Latest of ${group.task_name}`}
          >
            Latest
          </Link>
          {mayWrite && (
            <button type="button" className="button small" onClick={() => setReplaying(group)}>
              Replay {number(group.count)}…
            </button>
          )}
        </span>
      ),
    },
  ];
  const open = ({ fingerprint }: DeadLetterGroup): void =>
    void navigate({ to: '/dead-letters', search: { ...within(queue_name, since), fingerprint } as never });
  return (
    <>
      <div className="panel">
        <Table
          label="Groups of dead letters"
          rows={groups}
          columns={columns}
          idOf={(row) => row.fingerprint}
          onOpen={open}
        />
      </div>
      {replaying !== null && (
        <BulkDialog
          title={`Replay ${replaying.task_name}: ${replaying.message ?? 'no message'}`}
          verb="Replay"
          noun="dead letter"
          operation={{
            action: 'replay_dead_letters',
            filter: { fingerprint: replaying.fingerprint, replayed: false, ...filterOf(queue_name, since) },
          }}
          onClose={() => setReplaying(null)}
        />
      )}
    </>
  );
}

const capital = (words: string): string => words.slice(0, 1).toUpperCase() + words.slice(1);

const within = (queue_name: string | undefined, since: string | undefined): Record<string, string | undefined> => ({
  queue_name,
  since,
});

/** The filter of the view, by the names of an operation's filter. */
const filterOf = (queue_name: string | undefined, since: string | undefined): Record<string, string> => {
  const created_after = beginOf(since);
  return { ...(queue_name !== undefined && { queue_name }), ...(created_after !== undefined && { created_after }) };
};
