import type { JobSummary, JobSummaryPage } from '@millrace/contract';
import { useEffect, useRef, useState } from 'react';
import type { Query } from '../../api/client.js';
import { answerWith, useRead, type Read } from '../../api/hooks.js';

/** How many new rows are counted; more are "100+". */
const NEW_MAX = 100;
/** How many rows a page grows to while rows leave the list and others take their places in it. */
const ROWS_MAX = 200;
/** The same each time, so that rows that have not changed are not drawn again. */
const NONE: ReadonlySet<string> = new Set();

export interface LiveList {
  readonly read: Read<JobSummaryPage>;
  /** The rows in the order in which they were first shown. */
  readonly rows: readonly JobSummary[];
  /** Rows that have left the list since, because they no longer match. They stay where they are, greyed. */
  readonly gone: ReadonlySet<string>;
  /** How many rows wait to be shown above. */
  readonly fresh: number;
  readonly freshIsMore: boolean;
  /** Shows them. */
  readonly showFresh: () => void;
}

/**
 * A list in which nothing moves under the pointer. The first answer pins the page at its newest row; from then on that
 * same page is polled, its rows change in place, and new ones are counted by looking at the page before it.
 */
export function useLiveList(query: Query, live: boolean): LiveList {
  const asked = JSON.stringify(query);
  const [pin, setPin] = useState<{ readonly asked: string; readonly before: string } | null>(null);
  const pinned = pin?.asked === asked ? pin.before : undefined;
  const paged = query.cursor !== undefined;
  const pollMs = live ? undefined : null;
  const poll = pollMs === undefined ? {} : { pollMs };
  const limits = pinned === undefined || paged ? query : { ...query, created_before: pinned };
  const read = useRead<JobSummaryPage>('/jobs', { query: limits, ...poll });
  const page = read.isPlaceholder ? undefined : read.data;
  // Not from what an earlier visit has left behind: that may be a minute old.
  const first = read.isFetchedAfterMount && pinned === undefined && !paged ? page && read.answer : undefined;
  const newest = first?.data.jobs[0]?.created_at;
  useEffect(() => {
    if (first === undefined || newest === undefined) return;
    const before = justAfter(newest);
    // The pinned page is the one in view: it need not be waited for.
    answerWith('/jobs', { ...(JSON.parse(asked) as Query), created_before: before }, first);
    setPin({ asked, before });
  }, [first, newest, asked]);

  const before = useRead<JobSummaryPage>('/jobs', {
    query: { ...query, view: 'summary', cursor: page?.prev_cursor, limit: NEW_MAX },
    enabled: live && !paged && pinned !== undefined && page?.prev_cursor !== undefined,
    keepPrevious: false,
    ...poll,
  });
  const fresh = paged || pinned === undefined ? 0 : (before.data?.jobs.length ?? 0);
  const shown = useShown(page?.jobs, read.data?.jobs ?? [], paged ? asked : (pinned ?? null));
  return { read, ...shown, fresh, freshIsMore: fresh >= NEW_MAX, showFresh: () => setPin(null) };
}

/**
 * Keeps rows in view that have left the list while somebody was looking at it. While another list loads there are no
 * `jobs`, and the rows of the list `before` it are shown as they were. `view` is null until the page is pinned.
 */
function useShown(
  jobs: readonly JobSummary[] | undefined,
  before: readonly JobSummary[],
  view: string | null,
): Pick<LiveList, 'rows' | 'gone'> {
  const kept = useRef<{ view: string | null; rows: readonly JobSummary[] }>({ view: null, rows: [] });
  const current = new Map(jobs?.map((job) => [job.id, job]));
  const shown = view !== null && kept.current.view === view ? kept.current.rows : [];
  const known = new Set(shown.map(({ id }) => id));
  const more = jobs?.filter(({ id }) => !known.has(id)).slice(0, Math.max(0, ROWS_MAX - shown.length)) ?? [];
  const rows = jobs === undefined ? before : [...shown.map((job) => current.get(job.id) ?? job), ...more];
  useEffect(() => {
    if (jobs !== undefined) kept.current = { view, rows };
  });
  const gone = jobs === undefined ? [] : rows.filter(({ id }) => !current.has(id));
  return { rows, gone: gone.length === 0 ? NONE : new Set(gone.map(({ id }) => id)) };
}

/** The instant one microsecond later, because `created_before` excludes its own. */
export function justAfter(instant: string): string {
  const [, seconds = instant, fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(instant) ?? [];
  const micros = Number(fraction.padEnd(6, '0').slice(0, 6)) + 1;
  if (micros < 1_000_000) return `${seconds}.${String(micros).padStart(6, '0')}Z`;
  return `${new Date(Date.parse(`${seconds}Z`) + 1000).toISOString().slice(0, 19)}.000000Z`;
}
