import type { JobSummary, OperationFilter } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import type { Query } from '../../api/client.js';
import { BulkDialog, isUnknown, useDryRun } from '../../components/dialogs/bulk.js';
import { serverNow } from '../../lib/clock.js';
import { atLeast, plural } from '../../lib/format.js';
import { BULK_ACTIONS, jobFilterOf, letterFilterOf, type BulkAction } from './bulk-actions.js';
import { ReplayDialog } from './replay-dialog.js';
import type { RowSelection } from './selection.js';

interface BulkBarProps {
  readonly selection: RowSelection;
  readonly rows: readonly JobSummary[];
  readonly isFiltered: boolean;
  readonly query: Query;
}

/** What can be done with the selected rows, or with everything that matches. */
export function BulkBar({ selection, rows, isFiltered, query }: BulkBarProps): ReactNode {
  const [open, setOpen] = useState<BulkAction | null>(null);
  const [everything, setEverything] = useState(false);
  const filter = jobFilterOf(query);
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
      <ActionButtons rows={rows} selection={selection} query={all ? query : null} onChoose={setOpen} />
      <button type="button" className="button small quiet" onClick={selection.clear}>
        Clear
      </button>
      {selection.all && filter === null && !isFiltered && (
        <span className="quiet">Set a filter to select everything that matches it.</span>
      )}
      {open !== null && (
        <ActionDialog
          action={open}
          ids={selection.ids}
          query={all ? query : null}
          onClose={() => setOpen(null)}
          onDone={selection.clear}
        />
      )}
    </div>
  );
}

interface ActionButtonsProps {
  readonly rows: readonly JobSummary[];
  readonly selection: RowSelection;
  /** Everything that matches is selected; null: only the rows. */
  readonly query: Query | null;
  readonly onChoose: (action: BulkAction) => void;
}

function ActionButtons({ rows, selection, query, onChoose }: ActionButtonsProps): ReactNode {
  const now = serverNow();
  // Of those on other pages nothing is known here: the dry run says how many there are.
  const shown = rows.filter(({ id }) => selection.has(id));
  const isAllShown = query === null && shown.length === selection.ids.length;
  return BULK_ACTIONS.map((each) => {
    const fits = !isAllShown || shown.some((job) => each.fits(job, now));
    const isKnown = query === null || filterFor(each, query) !== null;
    return (
      <button
        key={each.action}
        type="button"
        className={each.danger ? 'button small danger' : 'button small'}
        disabled={!fits || !isKnown}
        title={isKnown ? each.forWhom : 'Dead letters are found by queue and task only'}
        onClick={() => onChoose(each)}
      >
        {each.verb}…
      </button>
    );
  });
}

const filterFor = ({ action }: BulkAction, query: Query): OperationFilter | null =>
  action === 'replay_dead_letters' ? letterFilterOf(query) : jobFilterOf(query);

interface ActionDialogProps {
  readonly action: BulkAction;
  readonly ids: readonly string[];
  readonly query: Query | null;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function ActionDialog({ action: chosen, ids, query, onClose, onDone }: ActionDialogProps): ReactNode {
  const { action, title, verb, danger } = chosen;
  const filter = query === null ? null : filterFor(chosen, query);
  const dialog = { title, verb, danger, onClose, onDone, noun: 'job' };
  if (action === 'replay_dead_letters' && filter === null) return <ReplayDialog {...dialog} jobIds={ids} />;
  return <BulkDialog {...dialog} operation={filter === null ? { action, ids: [...ids] } : { action, filter }} />;
}
