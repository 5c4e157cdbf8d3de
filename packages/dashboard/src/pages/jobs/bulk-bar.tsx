import type { OperationFilter } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import type { Query } from '../../api/client.js';
import { BulkDialog, isUnknown, useDryRun } from '../../components/dialogs/bulk.js';
import { atLeast, plural } from '../../lib/format.js';
import type { RowSelection } from './selection.js';

interface BulkBarProps {
  readonly selection: RowSelection;
  readonly isFiltered: boolean;
  readonly query: Query;
}

/** What can be done with the selected rows, or with everything that matches. */
export function BulkBar({ selection, isFiltered, query }: BulkBarProps): ReactNode {
  const [open, setOpen] = useState(false);
  const [everything, setEverything] = useState(false);
  const filter = filterOf(query);
  const canAll = selection.all && filter !== null;
  const all = everything && canAll;
  const dry = useDryRun(canAll ? { action: 'cancel_jobs', filter } : null);
  // Without a number while it is being counted, and if it cannot be.
  const isCounted = dry !== null && !(dry instanceof Error) && !isUnknown(dry.matched);
  const matching = isCounted ? ` ${dry.matched.exact ? '' : 'of '}${atLeast(dry.matched)}` : '';
  const selected = isCounted ? `All that match are selected: ${atLeast(dry.matched)}` : 'All that match are selected';
  return (
    <div className="bulk" role="group" aria-label="Selected jobs">
      <span>{all ? selected : `${plural(selection.ids.length, 'job')} selected`}</span>
      {canAll && (
        <button type="button" className="button small" onClick={() => setEverything(!all)}>
          {all ? 'Only this page' : `Select all${matching} that match`}
        </button>
      )}
      <button type="button" className="button small danger" onClick={() => setOpen(true)}>
        Cancel…
      </button>
      <button type="button" className="button small" onClick={selection.clear}>
        Clear
      </button>
      {selection.all && filter === null && !isFiltered && (
        <span className="quiet">Set a filter to select everything that matches it.</span>
      )}
      {open && (
        <BulkDialog
          title="Cancel jobs"
          verb="Cancel"
          noun="job"
          danger
          operation={all ? { action: 'cancel_jobs', filter } : { action: 'cancel_jobs', ids: [...selection.ids] }}
          onClose={() => setOpen(false)}
          onDone={selection.clear}
        />
      )}
    </div>
  );
}

/** The filter of an operation has the names of the list's parameters; an empty one is refused. */
function filterOf(query: Query): OperationFilter | null {
  const names = ['status', 'queue', 'task', 'idempotency_key', 'workflow_id', 'created_after'];
  const parts = names.flatMap((name) => {
    const value = query[name];
    return value === undefined || value === '' ? [] : [[name, String(value)] as const];
  });
  return parts.length === 0 ? null : Object.fromEntries(parts);
}
