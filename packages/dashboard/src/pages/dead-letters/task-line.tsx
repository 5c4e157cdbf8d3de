import type { DeadLetterGroup, Series } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useReads } from '../../api/hooks.js';
import { Sparkline } from '../../components/charts/chart.js';
import { spanMs, spanWords } from '../../components/tables/filters.js';
import { sinceOf } from '../../components/since.js';
import { plural } from '../../lib/format.js';

/** Each task on the page is a request; those beyond have no line. */
const TASKS_MAX = 20;
/** A line need not be fresh to the second. */
const POLL_MS = 60_000;
/** How many points a line has: as many as its few pixels show. */
const POINTS = 48;
/** Of groups of any time: what broke since the deploy is seldom older. */
const ANY_TIME = '24h';

/** The span that the lines are drawn over, by its name. */
export const lineSpan = (since: string | undefined): string => (spanMs(since) === undefined ? ANY_TIME : since!);

/**
 * How often the tasks of these groups failed for good within the span, by task. Groups of one task share its line: the
 * server counts by queue and task, not by the kind of error.
 */
export function useTaskFailures(
  groups: readonly DeadLetterGroup[],
  queue: string | undefined,
  since: string | undefined,
): ReadonlyMap<string, readonly number[]> {
  const tasks = [...new Set(groups.map(({ task_name }) => task_name))].slice(0, TASKS_MAX);
  const reads = useReads<Series>(
    tasks.map((task) => [
      '/series',
      { query: { queue, task }, since: sinceOf('from', lineSpan(since)), pollMs: POLL_MS, keepPrevious: false },
    ]),
  );
  const failures = reads.map(({ data }) => data?.columns.failed);
  return new Map(tasks.flatMap((task, index) => (failures[index] ? [[task, failures[index]] as const] : [])));
}

interface TaskLineProps {
  readonly task: string;
  readonly failures: readonly number[] | undefined;
  readonly since: string | undefined;
}

/** A task that failed too long ago, or that the server counts together with others, has no line. */
export function TaskLine({ task, failures, since }: TaskLineProps): ReactNode {
  const total = failures?.reduce((sum, n) => sum + n, 0) ?? 0;
  if (failures === undefined || total === 0) return null;
  const label = `${plural(total, 'failure')} of ${task}, ${spanWords(lineSpan(since))}, whatever the error`;
  return <Sparkline values={inPoints(failures)} label={label} tone="red" />;
}

/** Adds up neighbours until there are few enough. */
function inPoints(values: readonly number[]): number[] {
  const size = Math.ceil(values.length / POINTS);
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size).reduce((sum, n) => sum + n, 0),
  );
}
