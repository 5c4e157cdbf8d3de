import type { JobFilter } from '../../domain/filters.js';
import type { JobStatus } from '@millrace/contract';
import { plainArray } from '../arrays.js';
import { scanStatement, type Scan, type ScannedRows } from './scan-statements.js';
import {
  pageOf,
  pageOfIds,
  recordsOf,
  recordView,
  type Budget,
  type ListWindow,
  type TenantRead,
  type RecordView,
} from './page-statements.js';
import { Parameters } from './parameters.js';
import { JOB_COLUMNS } from '../rows.js';
import { boundsOf, type Cursor } from './walk-bounds.js';

/**
 * Lists of jobs. Which index is walked depends on the filter: the status names the table, and several of them are
 * walked side by side and merged. A workflow, an idempotency key and a parent lead to few jobs, whatever else is
 * asked. A task, an error, a field of the metadata and whether a job is due are searched for (see scan-statements.ts):
 * rows of `ready` say by themselves when they are due.
 */
export interface TenantJobFilter extends JobFilter {
  readonly tenant: string;
}

/** `where` is what an index serves, `fits` what is left to look at. */
const READY = 'millrace.ready w';
const DONE = 'millrace.done w';
const WALKED: Record<JobStatus, ScannedRows> = {
  pending: { from: READY, where: 'true', fits: 'w.retry_count = 0' },
  retrying: { from: READY, where: 'w.retry_count > 0' },
  running: { from: 'millrace.running w', where: 'true' },
  completed: { from: DONE, where: `w.status = 'completed'` },
  failed: { from: DONE, where: `w.status = 'failed'` },
  cancelled: { from: DONE, where: `w.status = 'cancelled'` },
};
const ALL: ScannedRows = { from: 'millrace.jobs w', where: 'true' };
/** The queue stands in `ready` and `jobs` themselves; the other tables need their job for it, and all for a task. */
const WITH_JOB = ' JOIN millrace.jobs q ON q.tenant = w.tenant AND q.id = w.id';

const JOB_RECORDS: RecordView = {
  ...recordView('millrace.job_records', JOB_COLUMNS, ['payload', 'metadata', 'result', 'error']),
  // The context of a step goes with its payload, and is read once for all records that have the same.
  bytesElsewhere: 'context_bytes',
};

const SUMMARY_COLUMNS = JOB_COLUMNS.filter((column) => !['payload', 'metadata', 'result'].includes(column));

/**
 * Without the bodies. To say how long a payload is, PostgreSQL has to read it where it is stored out of line (json has
 * no length of its own); that is done for the rows of the page only, and none of it leaves the database.
 */
const JOB_SUMMARIES: RecordView = {
  ...recordView('millrace.job_records', SUMMARY_COLUMNS, ['error']),
  computed: { payload_bytes: 'millrace.payload_bytes(r.payload, r.context, r.context_bytes)' },
};

export type JobView = 'full' | 'summary';

const VIEWS: Record<JobView, RecordView> = { full: JOB_RECORDS, summary: JOB_SUMMARIES };

export function listJobs(filter: TenantJobFilter, window: ListWindow, view: JobView = 'full'): TenantRead {
  const { ascending, after } = window;
  const named = nameValues(filter, after === null ? null : { id: after, ascending });
  return pageOf(VIEWS[view], 'list_jobs', filter.tenant, { walk: walkOf(filter, named, window), ...named }, window);
}

export const jobsOf = (tenant: string, ids: readonly string[], budget: Budget, view: JobView = 'full'): TenantRead =>
  recordsOf(VIEWS[view], 'jobs_of', tenant, ids, budget);

export const jobsWithIds = (tenant: string, ids: readonly string[], ascending: boolean, view: JobView): TenantRead =>
  pageOfIds(VIEWS[view], 'jobs_with_ids', tenant, ids, ascending);

export function countJobs(filter: TenantJobFilter): TenantRead {
  const named = nameValues(filter, null);
  const walks = isFew(filter) ? [fewWalk(filter, named)] : statusesOf(filter).map((status) => walk(status, named));
  const counts = walks.map((each) => `(SELECT count(*) ${each})`);
  const text = `SELECT (${counts.join(' + ')})::float8 AS total`;
  return { tenant: filter.tenant, statement: named.parameters.of('count_jobs', text) };
}

/** Whether a list has to be searched. */
export const isJobSearch = (filter: TenantJobFilter): boolean =>
  !isFew(filter) &&
  [filter.task, filter.error, filter.metadata, filter.due].some((wanted) => (wanted ?? null) !== null);

/** Also serves filters that have an index, for whoever wants nothing but ids (engine/operations/bulk-walk.ts). */
export function scanJobs(filter: TenantJobFilter, scan: Scan): TenantRead {
  const { ascending, after } = scan;
  const named = nameValues(filter, after === null ? null : { id: after, ascending });
  const { parameters, queue, error, due, bounds } = named;
  const parts = { name: 'look_for_jobs', tenant: filter.tenant, parameters, order: ['id'] as const };
  if (isFew(filter)) return scanStatement({ ...parts, walks: [fewJobs(filter, named)], hit: () => 'true' }, scan);
  const walks = lookedAt(filter).map(({ from, where, fits }) => {
    const conditions = [`w.tenant = ${parameters.tenant}`, where, ...bounds.map((bound) => `w.id ${bound}`)];
    if (from === ALL.from && queue !== null) conditions.push(`w.queue = ${queue}`);
    const own = [fits, error && hasError('w', error), due && isDue('w', due)].filter((each) => (each ?? null) !== null);
    return {
      ...{ from, where: conditions.join(' AND ') },
      ...(own.length > 0 && { fits: own.join(' AND ') }),
      ...(from === READY && { queue: 'w.queue' }),
    };
  });
  return scanStatement({ ...parts, walks, hit: (known) => hitOf(filter, named, known) }, scan);
}

/** What is walked for a filter: a job is pending or retrying by what its row in `ready` says, so both are one walk. */
function lookedAt(filter: TenantJobFilter): readonly ScannedRows[] {
  const { statuses } = filter;
  if (!statuses.includes('pending') || !statuses.includes('retrying')) return statusesOf(filter).map(sourceOf);
  const others = statuses.filter((status) => status !== 'pending' && status !== 'retrying');
  return [{ from: READY, where: 'true' }, ...others.map(sourceOf)];
}

/** Whether a row that is walked is one of those asked for. Its job is looked at only if its own `known` queue fits. */
function hitOf({ statuses }: TenantJobFilter, named: Named, known: string | null): string {
  const { parameters, queue } = named;
  const wanted = (table: string): string => wantedOf(table, named).join(' AND ') || 'true';
  if (statuses.length === 0) return wanted('w');
  const wantsNothing = wantedOf('j', named).length === 0;
  if (queue === null && wantsNothing) return 'true';
  const ofJob = (condition: string): string =>
    `coalesce((SELECT ${condition} FROM millrace.jobs j WHERE j.tenant = ${parameters.tenant} AND j.id = w.id), false)`;
  if (queue === null) return ofJob(wanted('j'));
  const asked = ofJob(`j.queue = ${queue} AND ${wanted('j')}`);
  if (known === null) return asked;
  return `CASE WHEN ${known} IS NULL THEN ${asked}
               WHEN ${known} = ${queue} THEN ${wantsNothing ? 'true' : ofJob(wanted('j'))} ELSE false END`;
}

/** What a job has to be, besides its queue. */
function wantedOf(table: string, { task, metadata }: Pick<Named, 'task' | 'metadata'>): string[] {
  return [
    ...(task === null ? [] : [`${table}.task = ${task}`]),
    ...(metadata === null
      ? []
      : [`coalesce(millrace.field_text(${table}.metadata, ${metadata.field}) = ${metadata.value}, false)`]),
  ];
}

const hasError = (table: string, error: string): string =>
  `coalesce(position(lower(${error}) IN lower(${table}.error)) > 0, false)`;

/** Of a row of `ready`. */
const isDue = (table: string, due: string): string => `(${table}.scheduled_at <= now()) = ${due}`;

/** The values of a filter, and the parameters that they are; every walk of a statement names the same. */
interface Named {
  readonly parameters: Parameters;
  readonly queue: string | null;
  readonly task: string | null;
  readonly error: string | null;
  readonly due: string | null;
  readonly metadata: { readonly field: string; readonly value: string } | null;
  /** What is said of an id. */
  readonly bounds: readonly string[];
}

function nameValues(filter: TenantJobFilter, cursor: Cursor | null): Named {
  const parameters = new Parameters(filter.tenant);
  const named = (value: string | null): string | null => (value === null ? null : parameters.add(value));
  return {
    parameters,
    queue: named(filter.queue),
    task: named(filter.task),
    error: typeof filter.error === 'string' ? `${parameters.add(filter.error)}::text` : null,
    due: typeof filter.due === 'boolean' ? `${parameters.add(filter.due)}::boolean` : null,
    metadata: filter.metadata
      ? { field: `${parameters.add(filter.metadata.field)}::text`, value: parameters.add(filter.metadata.value) }
      : null,
    bounds: boundsOf(filter, cursor, parameters),
  };
}

const statusesOf = ({ statuses }: TenantJobFilter): readonly (JobStatus | null)[] =>
  statuses.length === 0 ? [null] : statuses;

const sourceOf = (status: JobStatus | null): ScannedRows => (status === null ? ALL : WALKED[status]);

const isFew = ({ workflowId, idempotencyKey, parentId = null }: TenantJobFilter): boolean =>
  workflowId !== null || idempotencyKey !== null || parentId !== null;

function walkOf(filter: TenantJobFilter, named: Named, { ascending, limit, offset }: ListWindow): string {
  if (isFew(filter)) return fewWalk(filter, named);
  const [first = null, ...others] = statusesOf(filter);
  if (others.length === 0) return walk(first, named);
  const end = `ORDER BY w.id ${ascending ? 'ASC' : 'DESC'} LIMIT ${named.parameters.add(limit + offset)}`;
  const walks = [first, ...others].map((status) => `(SELECT w.tenant, w.id ${walk(status, named)} ${end})`);
  return `FROM (${walks.join(' UNION ALL ')}) AS w`;
}

/** Jobs of one state, or all of them. */
function walk(status: JobStatus | null, named: Named): string {
  const { parameters, queue, error, due, bounds } = named;
  const source = sourceOf(status);
  const hasQueue = source === ALL || source.from === READY;
  const isWanted = wantedOf('j', named).length > 0;
  const needsJob = (queue !== null && !hasQueue) || (isWanted && source !== ALL);
  const conditions = [
    `w.tenant = ${parameters.tenant}`,
    source.where,
    ...(source.fits === undefined ? [] : [source.fits]),
  ];
  if (queue !== null) conditions.push(`${hasQueue ? 'w' : 'q'}.queue = ${queue}`);
  conditions.push(...wantedOf(needsJob ? 'q' : 'w', named));
  if (error !== null) conditions.push(hasError('w', error));
  if (due !== null) conditions.push(isDue('w', due));
  // Where a page begins is said of both tables, since the planner may walk either.
  for (const table of needsJob ? ['w', 'q'] : ['w']) conditions.push(...bounds.map((bound) => `${table}.id ${bound}`));
  return `FROM ${source.from}${needsJob ? WITH_JOB : ''} WHERE ${conditions.join(' AND ')}`;
}

function fewWalk(filter: TenantJobFilter, named: Named): string {
  const { from, where } = fewJobs(filter, named);
  return `FROM ${from} WHERE ${where}`;
}

/**
 * By the index of a workflow's steps, the table of keys or that of children; all other conditions are then looked at
 * one by one. A parent may have many children: they are walked in the order of their ids, and no further than a page.
 */
function fewJobs(
  { statuses, workflowId, idempotencyKey, parentId = null }: TenantJobFilter,
  named: Named,
): ScannedRows {
  const { parameters, queue, error, due, bounds } = named;
  const columns = 'j.tenant, j.id, j.queue, j.task, j.workflow_id, j.idempotency_key, j.metadata';
  const conditions = [`w.tenant = ${parameters.tenant}`, ...bounds.map((bound) => `w.id ${bound}`)];
  const flow = workflowId === null ? null : `${parameters.add(workflowId)}::uuid`;
  const key = idempotencyKey === null ? null : parameters.add(idempotencyKey);
  if (flow !== null) conditions.push(`w.workflow_id = ${flow}`);
  if (key !== null) conditions.push(`w.idempotency_key = ${key}`);
  if (queue !== null) conditions.push(`w.queue = ${queue}`);
  conditions.push(...wantedOf('w', named));
  if (error !== null)
    conditions.push(`(SELECT ${hasError('r', error)} FROM millrace.job_records r
      WHERE r.tenant = w.tenant AND r.id = w.id)`);
  if (due !== null)
    conditions.push(`coalesce((SELECT ${isDue('r', due)} FROM millrace.ready r
      WHERE r.tenant = w.tenant AND r.id = w.id), false)`);
  if (statuses.length > 0) {
    const wanted = `${parameters.add(plainArray(statuses))}::millrace.job_status[]`;
    const status = 'SELECT r.status FROM millrace.job_records r WHERE r.tenant = w.tenant AND r.id = w.id';
    conditions.push(`(${status}) = ANY (${wanted})`);
  }
  const parent = parentId === null ? null : `${parameters.add(parentId)}::uuid`;
  if (parent !== null) {
    const ofChild = columns.replace('j.id', 'c.child_id AS id');
    const children = `SELECT ${ofChild} FROM millrace.children c, millrace.jobs j
      WHERE c.parent_id = ${parent} AND j.tenant = c.tenant AND j.id = c.child_id`;
    return { from: `(${children}) AS w`, where: conditions.join(' AND ') };
  }
  const few =
    key === null
      ? `SELECT ${columns} FROM millrace.jobs j WHERE j.workflow_id = ${flow} OFFSET 0`
      : `SELECT ${columns} FROM millrace.idempotency_keys k,
         LATERAL (SELECT ${columns} FROM millrace.jobs j WHERE j.tenant = k.tenant AND j.id = k.job_id OFFSET 0) AS j
         WHERE k.tenant = ${parameters.tenant} AND k.key = ${key} OFFSET 0`;
  return { from: `(${few}) AS w`, where: conditions.join(' AND ') };
}
