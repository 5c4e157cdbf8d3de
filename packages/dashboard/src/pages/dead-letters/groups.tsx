import type { DeadLetterGroup, DeadLetterGroups } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { BulkDialog } from '../../components/dialogs/bulk.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Pager } from '../../components/tables/pager.js';
import { State } from '../../components/state.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { curlOf } from '../../api/curl.js';
import { capital, number } from '../../lib/format.js';
import { useMayWrite } from '../../session/session.js';
import { REASONS } from '../../lib/dead-letter-reasons.js';
import { spanWords } from '../../components/tables/filters.js';
import { beginOf, sinceOf } from '../../components/since.js';
import { lineSpan, TaskLine, useTaskFailures } from './task-line.js';
import { go, useAddress } from '../../lib/routing.js';
import { Link } from '../../components/links.js';

/** What broke: entries of one task, one reason and one kind of error together, the newest first. */
export function GroupList(): ReactNode {
  const [{ task_name, queue_name, replayed, since, cursor }] = useAddress();
  const read = useRead<DeadLetterGroups>('/dlq/groups', {
    query: { task_name, queue_name, replayed, cursor },
    since: sinceOf('since', since),
  });
  const isFiltered = [task_name, queue_name, replayed, since].some((filter) => filter !== undefined);
  return (
    <>
      <Loaded read={read} what="Groups">
        {({ groups, searched_to }) => (
          <>
            {groups.length > 0 && <GroupTable groups={groups} />}
            {groups.length === 0 && searched_to === undefined && <NoGroups isFiltered={isFiltered} />}
            {searched_to !== undefined && (
              <p className="quiet">The search is not finished: continue with the next page.</p>
            )}
          </>
        )}
      </Loaded>
      {read.data !== undefined && <Pager page={read.data} />}
    </>
  );
}

const NoGroups = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode =>
  isFiltered ? (
    <Empty>No dead letter matches.</Empty>
  ) : (
    <Empty
      icon="deadLetters"
      title="No dead letter"
      curl={curlOf({
        method: 'POST',
        path: '/jobs',
        body: JSON.stringify({ task_name: 'fail', payload: { message: 'on purpose', permanent: true } }),
      })}
    >
      Jobs that have failed for good are kept here, by what went wrong. This creates one that fails:
    </Empty>
  );

/** The filters of the view, which its links keep. */
interface Scope {
  readonly queue_name: string | undefined;
  readonly since: string | undefined;
}

function GroupTable({ groups }: { readonly groups: readonly DeadLetterGroup[] }): ReactNode {
  const [replaying, setReplaying] = useState<DeadLetterGroup | null>(null);
  const [{ queue_name, since }] = useAddress();
  const scope = { queue_name, since };
  const mayWrite = useMayWrite();
  const failures = useTaskFailures(groups, queue_name, since);
  const columns: readonly Column<DeadLetterGroup>[] = [
    ...describing(scope),
    {
      key: 'line',
      title: capital(spanWords(lineSpan(since))),
      hiddenOnCards: true,
      cell: ({ task_name: task }) => <TaskLine task={task} failures={failures.get(task)} since={since} />,
    },
    ...WHEN,
    {
      key: 'do',
      title: 'Action',
      cell: (group) => <GroupActions group={group} onReplay={mayWrite ? () => setReplaying(group) : undefined} />,
    },
  ];
  const open = ({ fingerprint }: DeadLetterGroup): void => go('/dead-letters', { address: { ...scope, fingerprint } });
  return (
    <>
      <div className="panel">
        <Table
          label="Groups of dead letters"
          rows={groups}
          columns={columns}
          idOf={(row) => row.fingerprint}
          rowClass={(row) => (openOf(row) === 0 ? 'gone' : undefined)}
          onOpen={open}
        />
      </div>
      {replaying !== null && <ReplayGroup group={replaying} scope={scope} onClose={() => setReplaying(null)} />}
    </>
  );
}

const describing = (scope: Scope): readonly Column<DeadLetterGroup>[] => [
  {
    key: 'count',
    title: 'Open',
    numeric: true,
    cell: (group) => <Count group={group} />,
  },
  {
    key: 'what',
    title: 'What failed',
    wide: true,
    cell: ({ task_name, message, fingerprint }) => (
      <Link to="/dead-letters" search={{ ...scope, fingerprint }}>
        <b>{task_name}</b> <span className="group-message">{message ?? 'no message'}</span>
      </Link>
    ),
  },
  { key: 'reason', title: 'Reason', brief: true, cell: ({ reason }) => REASONS[reason] },
];

const WHEN: readonly Column<DeadLetterGroup>[] = [
  {
    key: 'first',
    title: 'First',
    numeric: true,
    hiddenOnCards: true,
    cell: ({ first_at }) => <Time at={first_at} />,
  },
  { key: 'last', title: 'Last', numeric: true, cell: ({ last_at }) => <Time at={last_at} /> },
];

/** How many are to be looked at: what was replayed is not, and says so. */
function Count({ group }: { readonly group: DeadLetterGroup }): ReactNode {
  const { count } = group;
  const open = openOf(group);
  if (open === 0) return <span className="quiet">{number(count)}</span>;
  return (
    <>
      <span className="group-count">{number(open)}</span>
      {open < count && <div className="quiet group-of">of {number(count)}</div>}
    </>
  );
}

/** Servers of earlier versions do not say. */
const openOf = ({ open, count }: Pick<DeadLetterGroup, 'count'> & { readonly open?: number }): number => open ?? count;

interface GroupActionsProps {
  readonly group: DeadLetterGroup;
  /** Undefined for those who may not. */
  readonly onReplay: (() => void) | undefined;
}

const GroupActions = ({ group, onReplay }: GroupActionsProps): ReactNode => (
  <span className="row">
    <Link className="button small" to={`/dead-letters/${group.latest_id}`} aria-label={`Latest of ${group.task_name}`}>
      Latest
    </Link>
    {openOf(group) === 0 ? (
      <State state="replayed" />
    ) : (
      onReplay !== undefined && (
        <button type="button" className="button small" onClick={onReplay}>
          Replay {number(openOf(group))}…
        </button>
      )
    )}
  </span>
);

interface ReplayGroupProps {
  readonly group: DeadLetterGroup;
  readonly scope: Scope;
  readonly onClose: () => void;
}

const ReplayGroup = ({ group, scope, onClose }: ReplayGroupProps): ReactNode => (
  <BulkDialog
    title={`Replay ${group.task_name}: ${group.message ?? 'no message'}`}
    verb="Replay"
    noun="dead letter"
    operation={{
      action: 'replay_dead_letters',
      filter: { fingerprint: group.fingerprint, replayed: false, ...filterOf(scope) },
    }}
    onClose={onClose}
  />
);

/** The filter of the view, by the names of an operation's filter. */
const filterOf = ({ queue_name, since }: Scope): Record<string, string> => {
  const created_after = beginOf(since);
  return { ...(queue_name !== undefined && { queue_name }), ...(created_after !== undefined && { created_after }) };
};
