import type { LimitPage, LimitUse, QueueDetail } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Meter } from '../../components/charts/meter.js';
import { Loaded } from '../../components/notes.js';
import { Panel } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { number } from '../../lib/format.js';
import { rateText, settingsWords } from '../../lib/limits.js';
import { useAddress } from '../../lib/routing.js';

interface QueueLimitsProps {
  readonly queue: string;
  /** Null while it is not known. */
  readonly detail: QueueDetail | null;
}

/** What holds jobs back: what the operator has set for the queue, and the keys that jobs name. */
export function QueueLimits({ queue, detail }: QueueLimitsProps): ReactNode {
  const [{ cursor }] = useAddress();
  const read = useRead<LimitPage>('/limits', { query: { queue, limit: '20', cursor } });
  const set = settingsWords(detail?.settings ?? null);
  // A queue without any limit needs no panel that says so.
  if (set.length === 0 && cursor === undefined && (read.data?.limits.length ?? 0) === 0) return null;
  return (
    <Panel title="Limits" aside={set.length > 0 && <span className="quiet">of the queue: {set.join(', ')}</span>}>
      <Loaded read={read} what="Limits">
        {(page) =>
          page.limits.length === 0 ? (
            <p className="quiet">No unfinished job names a limit of its own.</p>
          ) : (
            <>
              <Table label="Limits by key" rows={page.limits} columns={COLUMNS} idOf={({ key }) => key} />
              <Pager page={page} first="First" />
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}

const COLUMNS: readonly Column<LimitUse>[] = [
  { key: 'key', title: 'Key', wide: true, cell: ({ key }) => <span className="mono">{key}</span> },
  {
    key: 'running',
    title: 'Running',
    cell: ({ running, limit }) => (limit === null ? number(running) : <Meter done={running} of={limit} />),
  },
  { key: 'rate', title: 'Rate', cell: ({ rate }) => (rate === null ? '–' : rateText(rate)) },
  { key: 'waiting', title: 'Waiting', numeric: true, cell: ({ waiting }) => number(waiting) },
  { key: 'oldest', title: 'Oldest since', numeric: true, cell: ({ oldest }) => <Time at={oldest} otherwise="–" /> },
];
