import type { JobStatus, WorkflowStatus } from '@millrace/contract';
import { CRON_COLUMNS, FIRING_COLUMNS, type CronDue } from './cron-rows.js';
import {
  pageOf,
  recordsOf,
  recordView,
  type Budget,
  type ListWindow,
  type Query,
  type RecordView,
} from './page-statements.js';
import { DEAD_LETTER_COLUMNS, JOB_COLUMNS, WORKFLOW_COLUMNS } from './rows.js';

export type { Budget, ListWindow, Query, Sized } from './page-statements.js';

/**
 * Lists are the only statements assembled from parts, because callers choose the filters. Every part is a constant
 * below; values are passed as parameters.
 *
 * Each list walks one index in order of id, which is the order of creation, and stops at the end of the page; only the
 * rows of the page are then joined with the rest of their record (see page-statements.ts). The filter decides which
 * index: the status determines the table to walk.
 */
export interface ListFilter {
  readonly tenant: string;
  readonly status: JobStatus | null;
  readonly queue: string | null;
  readonly createdAfter: string | null;
  readonly createdBefore: string | null;
}

const READY = 'millrace.ready w';
const WALKED: Record<JobStatus, { readonly from: string; readonly where: string }> = {
  pending: { from: READY, where: 'w.retry_count = 0' },
  retrying: { from: READY, where: 'w.retry_count > 0' },
  running: { from: 'millrace.running w', where: 'true' },
  completed: { from: 'millrace.done w', where: `w.status = 'completed'` },
  failed: { from: 'millrace.done w', where: `w.status = 'failed'` },
  cancelled: { from: 'millrace.done w', where: `w.status = 'cancelled'` },
};
const ALL = { from: 'millrace.jobs w', where: 'true' };
/** `ready` and `jobs` have a queue column; the other tables must be joined with their job to get it. */
const WITH_JOB = ' JOIN millrace.jobs q ON q.tenant = w.tenant AND q.id = w.id';

const JOB_RECORDS: RecordView = {
  ...recordView('millrace.job_records', JOB_COLUMNS, ['payload', 'metadata', 'result', 'error']),
  // A step's context is part of its payload, and is read once for all records that share it.
  bytesElsewhere: 'context_bytes',
};

export function listJobs(filter: ListFilter, window: ListWindow): Query {
  return pageOf(JOB_RECORDS, 'list_jobs', filter.tenant, walked(filter, cursorOf(window)), window);
}

export const jobsOf = (tenant: string, ids: readonly string[], budget: Budget): Query =>
  recordsOf(JOB_RECORDS, 'jobs_of', tenant, ids, budget);

export function countJobs(filter: ListFilter): Query {
  const { walk, values } = walked(filter, null);
  return {
    tenant: filter.tenant,
    statement: { name: 'count_jobs', text: `SELECT count(*)::float8 AS total ${walk}` },
    values,
  };
}

interface Walk {
  readonly from: string;
  /**
   * The tables in `from` whose id is the job's: the bounds of a page apply to each of them, since the planner may walk
   * any of them.
   */
  readonly byId?: readonly string[];
  readonly conditions: readonly string[];
  readonly values: unknown[];
}

function walked(filter: ListFilter, cursor: Cursor | null): { walk: string; values: unknown[] } {
  const source = filter.status === null ? ALL : WALKED[filter.status];
  const walk: Walk = { from: source.from, conditions: [source.where], values: [filter.tenant] };
  if (filter.queue === null) return inOrderOfId(walk, filter, cursor);
  const inPlace = source === ALL || source.from === READY;
  walk.values.push(filter.queue);
  const onQueue = `${inPlace ? 'w' : 'q'}.queue = $${walk.values.length}`;
  const conditions = [source.where, onQueue];
  if (inPlace) return inOrderOfId({ ...walk, conditions }, filter, cursor);
  return inOrderOfId({ ...walk, from: walk.from + WITH_JOB, byId: ['w', 'q'], conditions }, filter, cursor);
}

interface Cursor {
  readonly id: string;
  readonly ascending: boolean;
}

/** The conditions that all lists in order of id share: the tenant, the time range, and where the last page ended. */
function inOrderOfId(
  { from, byId = ['w'], conditions, values }: Walk,
  { createdAfter, createdBefore }: Pick<ListFilter, 'createdAfter' | 'createdBefore'>,
  cursor: Cursor | null,
): { walk: string; values: unknown[] } {
  const all = ['w.tenant = $1', ...conditions];
  const bound = (condition: string): void => void all.push(...byId.map((table) => `${table}.id ${condition}`));
  if (createdAfter !== null) bound(`>= millrace.first_id($${values.push(createdAfter)}::timestamptz)`);
  if (createdBefore !== null) bound(`< millrace.first_id($${values.push(createdBefore)}::timestamptz)`);
  if (cursor) bound(`${cursor.ascending ? '>' : '<'} $${values.push(cursor.id)}::uuid`);
  return { walk: `FROM ${from} WHERE ${all.join(' AND ')}`, values };
}

const cursorOf = ({ after, ascending }: ListWindow): Cursor | null =>
  after === null ? null : { id: after, ascending };

export interface WorkflowFilter extends Pick<ListFilter, 'tenant' | 'createdAfter' | 'createdBefore'> {
  readonly status: WorkflowStatus | null;
}

const RUNS = 'millrace.workflow_runs w';
const ENDS = 'millrace.workflow_ends w';
const WORKFLOWS: Record<WorkflowStatus, { readonly from: string; readonly where: string }> = {
  created: { from: RUNS, where: `w.status = 'created'` },
  running: { from: RUNS, where: `w.status = 'running'` },
  completed: { from: ENDS, where: `w.status = 'completed'` },
  failed: { from: ENDS, where: `w.status = 'failed'` },
  partially_failed: { from: ENDS, where: `w.status = 'partially_failed'` },
  cancelled: { from: ENDS, where: `w.status = 'cancelled'` },
};
const ALL_WORKFLOWS = { from: 'millrace.workflows w', where: 'true' };

const WORKFLOW_RECORDS = recordView('millrace.workflow_records', WORKFLOW_COLUMNS, [
  'definition',
  'metadata',
  'context',
]);

export function listWorkflows(filter: WorkflowFilter, window: ListWindow): Query {
  return pageOf(WORKFLOW_RECORDS, 'list_workflows', filter.tenant, walkedWorkflows(filter, cursorOf(window)), window);
}

export const workflowsOf = (tenant: string, ids: readonly string[], budget: Budget): Query =>
  recordsOf(WORKFLOW_RECORDS, 'workflows_of', tenant, ids, budget);

export function countWorkflows(filter: WorkflowFilter): Query {
  const { walk, values } = walkedWorkflows(filter, null);
  return {
    tenant: filter.tenant,
    statement: { name: 'count_workflows', text: `SELECT count(*)::float8 AS total ${walk}` },
    values,
  };
}

function walkedWorkflows(filter: WorkflowFilter, cursor: Cursor | null): { walk: string; values: unknown[] } {
  const { from, where } = filter.status === null ? ALL_WORKFLOWS : WORKFLOWS[filter.status];
  return inOrderOfId({ from, conditions: [where], values: [filter.tenant] }, filter, cursor);
}

export type CronFilter = Pick<ListFilter, 'tenant' | 'createdAfter' | 'createdBefore'>;

const CRONS = recordView('millrace.crons', CRON_COLUMNS, ['payload']);

export function listCrons(filter: CronFilter, window: ListWindow): Query {
  return pageOf(CRONS, 'list_crons', filter.tenant, walkedCrons(filter, cursorOf(window)), window);
}

export const cronsOf = (tenant: string, ids: readonly string[], budget: Budget): Query =>
  recordsOf(CRONS, 'crons_of', tenant, ids, budget);

export function countCrons(filter: CronFilter): Query {
  const { walk, values } = walkedCrons(filter, null);
  return {
    tenant: filter.tenant,
    statement: { name: 'count_crons', text: `SELECT count(*)::float8 AS total ${walk}` },
    values,
  };
}

function walkedCrons(filter: CronFilter, cursor: Cursor | null): { walk: string; values: unknown[] } {
  return inOrderOfId({ from: 'millrace.crons w', conditions: [], values: [filter.tenant] }, filter, cursor);
}

/** The expression of the index crons_by_due; its predicate is below. The planner chooses the index only with both. */
const DUE = `CASE WHEN w.enabled THEN w.next_run_at ELSE 'infinity'::timestamptz END`;

/** In the order in which schedules fire next; this list has only one direction. */
export function listCronsByDue(filter: CronFilter, window: ListWindow<CronDue>): Query {
  const { walk, values } = walkedCrons(filter, null);
  const { after } = window;
  let from = `${walk} AND w.created_at > '-infinity'`;
  if (after !== null) {
    values.push(after.at ?? 'infinity', after.id);
    from += ` AND (${DUE}, w.id) > ($${values.length - 1}::timestamptz, $${values.length}::uuid)`;
  }
  const ascending = { ...window, after: after?.id ?? null, ascending: true };
  return pageOf(CRONS, 'list_crons_by_due', filter.tenant, { walk: from, values, rank: DUE }, ascending);
}

export interface FiringFilter extends CronFilter {
  readonly cronId: string;
}

/** The cursor is the number of a firing. */
export type FiringWindow = ListWindow<number>;

/** A schedule keeps at most a thousand firings, so they are simply sorted. */
export function listFirings(filter: FiringFilter, window: FiringWindow): Query {
  const { where, values } = firingsWhere(filter);
  const order = window.ascending ? 'ASC' : 'DESC';
  let text = `SELECT ${FIRING_COLUMNS.join(', ')} FROM millrace.cron_firings WHERE ${where}`;
  if (window.after !== null)
    text += ` AND number ${window.ascending ? '>' : '<'} $${values.push(window.after)}::bigint`;
  values.push(window.limit, window.offset);
  text += ` ORDER BY number ${order} LIMIT $${values.length - 1} OFFSET $${values.length}`;
  return { tenant: filter.tenant, statement: { name: 'list_firings', text }, values };
}

export function countFirings(filter: FiringFilter): Query {
  const { where, values } = firingsWhere(filter);
  const text = `SELECT count(*)::float8 AS total FROM millrace.cron_firings WHERE ${where}`;
  return { tenant: filter.tenant, statement: { name: 'count_firings', text }, values };
}

function firingsWhere(filter: FiringFilter): { where: string; values: unknown[] } {
  const values: unknown[] = [filter.tenant, filter.cronId];
  const conditions = ['tenant = $1', 'cron_id = $2'];
  if (filter.createdAfter !== null) conditions.push(`fired_at >= $${values.push(filter.createdAfter)}::timestamptz`);
  if (filter.createdBefore !== null) conditions.push(`fired_at < $${values.push(filter.createdBefore)}::timestamptz`);
  return { where: conditions.join(' AND '), values };
}

export type DeadLetterFilter = Pick<ListFilter, 'tenant' | 'createdAfter' | 'createdBefore'>;

export type DeadLetterWindow = ListWindow<{ readonly createdAt: string; readonly id: number }>;

export function listDeadLetters(filter: DeadLetterFilter, window: DeadLetterWindow): Query {
  const { where, values } = deadLettersWhere(filter);
  const order = window.ascending ? 'ASC' : 'DESC';
  let text = `SELECT ${DEAD_LETTER_COLUMNS.join(', ')} FROM millrace.dead_letters WHERE ${where}`;
  if (window.after) {
    values.push(window.after.createdAt, window.after.id);
    const place = `($${values.length - 1}::timestamptz, $${values.length}::bigint)`;
    text += ` AND (created_at, id) ${window.ascending ? '>' : '<'} ${place}`;
  }
  values.push(window.limit, window.offset);
  text += ` ORDER BY created_at ${order}, id ${order} LIMIT $${values.length - 1} OFFSET $${values.length}`;
  return { tenant: filter.tenant, statement: { name: 'list_dead_letters', text }, values };
}

export function countDeadLetters(filter: DeadLetterFilter): Query {
  const { where, values } = deadLettersWhere(filter);
  const text = `SELECT count(*)::float8 AS total FROM millrace.dead_letters WHERE ${where}`;
  return { tenant: filter.tenant, statement: { name: 'count_dead_letters', text }, values };
}

function deadLettersWhere(filter: DeadLetterFilter): { where: string; values: unknown[] } {
  const values: unknown[] = [filter.tenant];
  const conditions = ['tenant = $1'];
  if (filter.createdAfter !== null) conditions.push(`created_at >= $${values.push(filter.createdAfter)}::timestamptz`);
  if (filter.createdBefore !== null) conditions.push(`created_at < $${values.push(filter.createdBefore)}::timestamptz`);
  return { where: conditions.join(' AND '), values };
}
