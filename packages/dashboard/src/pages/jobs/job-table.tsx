import type { JobSummary } from '@millrace/contract';
import { useMemo, type ReactNode } from 'react';
import { Table, type Selection } from '../../components/tables/table.js';
import { useNow } from '../../lib/clock.js';
import { columnsAt } from './job-columns.js';
import { go } from '../../lib/routing.js';

interface JobTableProps {
  readonly rows: readonly JobSummary[];
  readonly gone: ReadonlySet<string>;
  /** The names of the columns, separated by commas. */
  readonly columns: string;
  readonly selection: Selection | undefined;
}

/** A page of the list. Rows that have left the list are greyed. */
export function JobTable({ rows, gone, columns: names, selection }: JobTableProps): ReactNode {
  const now = useNow();
  const columns = useMemo(() => {
    const chosen = new Set(names.split(','));
    return columnsAt(now, gone).filter(({ key }) => chosen.has(key));
  }, [now, gone, names]);
  return (
    <Table
      label="Jobs"
      rows={rows}
      columns={columns}
      idOf={({ id }) => id}
      onOpen={({ id }) => go(`/jobs/${id}`)}
      selection={selection}
      rowClass={({ id }) => (gone.has(id) ? 'gone' : undefined)}
    />
  );
}
