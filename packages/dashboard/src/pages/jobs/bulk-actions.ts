import type { JobSummary, OperationAction, OperationFilter } from '@millrace/contract';
import type { Query } from '../../api/client.js';
import type { Address } from '../../lib/address.js';
import { hasEnded } from '../../lib/states.js';
import { metadataOf } from './job-query.js';

/** What can be done with many jobs at once. */
export interface BulkAction {
  readonly action: OperationAction;
  readonly verb: string;
  readonly title: string;
  readonly danger: boolean;
  /** Whether it does anything to a job in its present state. */
  readonly fits: (job: JobSummary, now: number) => boolean;
  /** For whom it is, where no selected job is one of them. */
  readonly forWhom: string;
}

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    action: 'cancel_jobs',
    verb: 'Cancel',
    title: 'Cancel jobs',
    danger: true,
    fits: ({ status }) => !hasEnded(status),
    forWhom: 'For jobs that have not ended',
  },
  {
    action: 'run_jobs_now',
    verb: 'Run now',
    title: 'Run jobs now',
    danger: false,
    fits: ({ status, scheduled_at: due }, now) =>
      status === 'retrying' || (status === 'pending' && Date.parse(due) > now),
    forWhom: 'For jobs that wait for their time or for their next attempt',
  },
  {
    action: 'rerun_jobs',
    verb: 'Rerun',
    title: 'Rerun jobs',
    danger: false,
    fits: ({ status }) => hasEnded(status),
    forWhom: 'For jobs that have ended: creates each of them anew',
  },
  {
    action: 'replay_dead_letters',
    verb: 'Replay',
    title: 'Replay jobs',
    danger: false,
    fits: ({ status }) => status === 'failed',
    forWhom: 'For jobs that failed: replays their dead letters',
  },
];

/** The names of the list's parameters are those of the filter of an operation, where metadata is an object. */
const NAMES = ['status', 'queue', 'due', 'task', 'error', 'idempotency_key', 'workflow_id', 'created_after'];

/** Everything that the list shows, for an operation on jobs; null if nothing narrows it, which would be refused. */
export function jobFilterOf(query: Query): OperationFilter | null {
  const parts = NAMES.flatMap((name) => {
    const value = query[name];
    return value === undefined || value === ''
      ? []
      : [[name, name === 'due' ? value === 'true' : String(value)] as const];
  });
  const metadata = metadataOf(query as Address);
  const all = [...parts, ...(metadata === undefined ? [] : [['metadata', Object.fromEntries([metadata])] as const])];
  return all.length === 0 ? null : (Object.fromEntries(all) as OperationFilter);
}

/**
 * The dead letters of everything that the list shows; null if the list is narrowed by something that dead letters do
 * not know. They have a time of their own, so a span of jobs is not one of theirs.
 */
export function letterFilterOf(query: Query): OperationFilter | null {
  const filter = jobFilterOf(query);
  if (filter === null) return null;
  const { status, queue, task, ...rest } = filter;
  if (Object.keys(rest).length > 0 || (status !== undefined && status !== 'failed')) return null;
  const names = { ...(queue !== undefined && { queue_name: queue }), ...(task !== undefined && { task_name: task }) };
  return { ...names, replayed: false };
}
