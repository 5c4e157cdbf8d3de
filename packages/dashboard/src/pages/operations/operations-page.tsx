import type { Operation, Operations } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { Progress } from '../../components/progress.js';
import { State } from '../../components/state.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { curlOf } from '../../api/curl.js';
import { atLeast, number } from '../../lib/format.js';
import { actionWords, filterWords, partDone } from './operation-words.js';
import { go, useAddress } from '../../lib/routing.js';
import { Link } from '../../components/links.js';

const COLUMNS: readonly Column<Operation>[] = [
  { key: 'status', title: 'State', cell: ({ status }) => <State state={status} /> },
  {
    key: 'action',
    title: 'Action',
    cell: (operation) => <Link to={`/operations/${operation.id}`}>{actionWords(operation)}</Link>,
  },
  {
    key: 'filter',
    title: 'Works on',
    wide: true,
    cell: (operation) => <span title={filterWords(operation)}>{filterWords(operation)}</span>,
  },
  {
    key: 'part',
    title: 'Done',
    hiddenOnCards: true,
    cell: (operation) => <Progress part={partDone(operation)} label="Done" />,
  },
  { key: 'changed', title: 'Changed', numeric: true, cell: ({ changed }) => number(changed) },
  { key: 'matched', title: 'Matched', numeric: true, cell: ({ matched }) => atLeast(matched) },
  { key: 'created', title: 'Requested', numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

export default function OperationsPage(): ReactNode {
  const [{ cursor }] = useAddress();
  const read = useRead<Operations>('/operations', { query: { cursor, limit: 50 } });
  return (
    <Page title="Operations">
      <Loaded read={read} what="Operations">
        {(page) => (
          <>
            <div className="panel">
              {page.operations.length === 0 ? (
                <Empty
                  icon="operations"
                  title="No bulk operation yet"
                  curl={curlOf({
                    method: 'POST',
                    path: '/operations',
                    body: '{"action":"cancel_jobs","filter":{"queue":"mail"},"dry_run":true}',
                  })}
                >
                  Select rows under Jobs or Dead letters to start one. This only says how many jobs would match:
                </Empty>
              ) : (
                <Table
                  label="Operations"
                  rows={page.operations}
                  columns={COLUMNS}
                  idOf={({ id }) => id}
                  onOpen={({ id }) => go(`/operations/${id}`)}
                />
              )}
            </div>
            <Pager page={page} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
