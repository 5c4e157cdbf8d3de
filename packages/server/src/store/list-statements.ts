import type { JobStatus, WorkflowStatus } from '@millrace/contract';
import type { CronDue } from './cron-rows.js';
import type { Statement } from './sql.js';

/**
 * The only statements that are put together from pieces: lists, whose filters a caller chooses. Every piece is a constant below; values
 * travel as parameters.
 *
 * Each list walks one index in order of id, which is the order of creation, and stops at the end of the page; only the rows of the
 * page are then joined with the rest of their job. Which index depends on the filter: the status names the table to walk.
 */
export interface ListFilter {
  readonly tenant: string;
  readonly status: JobStatus | null;
  readonly queue: string | null;
  readonly createdAfter: string | null;
  readonly createdBefore: string | null;
}

export interface ListWindow<At = string> {
  readonly ascending: boolean;
  /** Where the last page ended: its last id, where nothing else is said. */
  readonly after: At | null;
  readonly limit: number;
  readonly offset: number;
}

export interface Query {
  readonly statement: Statement;
  readonly values: readonly unknown[];
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
/** The queue stands in `ready` and `jobs` themselves; the other tables need their job for it. */
const WITH_JOB = ' JOIN millrace.jobs q ON q.tenant = w.tenant AND q.id = w.id';

export function listJobs(filter: ListFilter, window: ListWindow): Query {
  return pageOf('millrace.job_records', 'list_jobs', walked(filter, cursorOf(window)), window);
}

export function countJobs(filter: ListFilter): Query {
  const { walk, values } = walked(filter, null);
  return { statement: { name: 'count_jobs', text: `SELECT count(*)::float8 AS total ${walk}` }, values };
}

interface Walk {
  readonly from: string;
  /** The tables in it whose id is that of the job: where a page begins is said of each, since the planner may walk any of them. */
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

/** The part that all lists in order of id share: the tenant, the time range, where the last page ended. */
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

/** A page of whole records of a view, in order of id. */
function pageOf(
  view: string,
  name: string,
  { walk, values }: { walk: string; values: unknown[] },
  window: ListWindow,
): Query {
  const order = window.ascending ? 'ASC' : 'DESC';
  values.push(window.limit, window.offset);
  const page = `SELECT w.tenant, w.id ${walk} ORDER BY w.id ${order} LIMIT $${values.length - 1} OFFSET $${values.length}`;
  const text = `SELECT rec.* FROM (${page}) AS page, LATERAL (
    SELECT * FROM ${view} r WHERE r.tenant = page.tenant AND r.id = page.id OFFSET 0
  ) AS rec ORDER BY page.id ${order}`;
  return { statement: { name, text }, values };
}

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

export function listWorkflows(filter: WorkflowFilter, window: ListWindow): Query {
  return pageOf('millrace.workflow_records', 'list_workflows', walkedWorkflows(filter, cursorOf(window)), window);
}

export function countWorkflows(filter: WorkflowFilter): Query {
  const { walk, values } = walkedWorkflows(filter, null);
  return { statement: { name: 'count_workflows', text: `SELECT count(*)::float8 AS total ${walk}` }, values };
}

function walkedWorkflows(filter: WorkflowFilter, cursor: Cursor | null): { walk: string; values: unknown[] } {
  const { from, where } = filter.status === null ? ALL_WORKFLOWS : WORKFLOWS[filter.status];
  return inOrderOfId({ from, conditions: [where], values: [filter.tenant] }, filter, cursor);
}

export type CronFilter = Pick<ListFilter, 'tenant' | 'createdAfter' | 'createdBefore'>;

export function listCrons(filter: CronFilter, window: ListWindow): Query {
  return pageOf('millrace.crons', 'list_crons', walkedCrons(filter, cursorOf(window)), window);
}

export function countCrons(filter: CronFilter): Query {
  const { walk, values } = walkedCrons(filter, null);
  return { statement: { name: 'count_crons', text: `SELECT count(*)::float8 AS total ${walk}` }, values };
}

function walkedCrons(filter: CronFilter, cursor: Cursor | null): { walk: string; values: unknown[] } {
  return inOrderOfId({ from: 'millrace.crons w', conditions: [], values: [filter.tenant] }, filter, cursor);
}

/** The expression of crons_by_due, and its predicate below: without them the planner does not choose that index. */
const DUE = `CASE WHEN enabled THEN next_run_at ELSE 'infinity'::timestamptz END`;

/** In the order of what fires next, which has one direction only. */
export function listCronsByDue(filter: CronFilter, window: ListWindow<CronDue>): Query {
  const { walk, values } = walkedCrons(filter, null);
  let text = `SELECT w.* ${walk} AND created_at IS NOT NULL`;
  if (window.after !== null) {
    values.push(window.after.at ?? 'infinity', window.after.id);
    text += ` AND (${DUE}, id) > ($${values.length - 1}::timestamptz, $${values.length}::uuid)`;
  }
  values.push(window.limit, window.offset);
  text += ` ORDER BY ${DUE}, id LIMIT $${values.length - 1} OFFSET $${values.length}`;
  return { statement: { name: 'list_crons_by_due', text }, values };
}

export interface FiringFilter extends CronFilter {
  readonly cronId: string;
}

/** A page ends with the number of a firing. */
export type FiringWindow = ListWindow<number>;

/** A schedule remembers a thousand firings at most: they are simply sorted. */
export function listFirings(filter: FiringFilter, window: FiringWindow): Query {
  const { where, values } = firingsWhere(filter);
  const order = window.ascending ? 'ASC' : 'DESC';
  let text = `SELECT * FROM millrace.cron_firings WHERE ${where}`;
  if (window.after !== null)
    text += ` AND number ${window.ascending ? '>' : '<'} $${values.push(window.after)}::bigint`;
  values.push(window.limit, window.offset);
  text += ` ORDER BY number ${order} LIMIT $${values.length - 1} OFFSET $${values.length}`;
  return { statement: { name: 'list_firings', text }, values };
}

export function countFirings(filter: FiringFilter): Query {
  const { where, values } = firingsWhere(filter);
  const text = `SELECT count(*)::float8 AS total FROM millrace.cron_firings WHERE ${where}`;
  return { statement: { name: 'count_firings', text }, values };
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
  let text = `SELECT * FROM millrace.dead_letters WHERE ${where}`;
  if (window.after) {
    values.push(window.after.createdAt, window.after.id);
    text += ` AND (created_at, id) ${window.ascending ? '>' : '<'} ($${values.length - 1}::timestamptz, $${values.length}::bigint)`;
  }
  values.push(window.limit, window.offset);
  text += ` ORDER BY created_at ${order}, id ${order} LIMIT $${values.length - 1} OFFSET $${values.length}`;
  return { statement: { name: 'list_dead_letters', text }, values };
}

export function countDeadLetters(filter: DeadLetterFilter): Query {
  const { where, values } = deadLettersWhere(filter);
  const text = `SELECT count(*)::float8 AS total FROM millrace.dead_letters WHERE ${where}`;
  return { statement: { name: 'count_dead_letters', text }, values };
}

function deadLettersWhere(filter: DeadLetterFilter): { where: string; values: unknown[] } {
  const values: unknown[] = [filter.tenant];
  const conditions = ['tenant = $1'];
  if (filter.createdAfter !== null) conditions.push(`created_at >= $${values.push(filter.createdAfter)}::timestamptz`);
  if (filter.createdBefore !== null) conditions.push(`created_at < $${values.push(filter.createdBefore)}::timestamptz`);
  return { where: conditions.join(' AND '), values };
}
