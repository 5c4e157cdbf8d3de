import type { CreatedRange, WorkflowScope } from '../../domain/filters.js';
import {
  FAILED_STEP_ERROR_LENGTH,
  WAITS_QUEUE,
  type TerminalWorkflowStatus,
  type WorkflowStatus,
} from '@millrace/contract';
import { STEP } from '../../domain/dag.js';
import { CRON_COLUMNS, FIRING_COLUMNS, type CronDue } from '../cron-rows.js';
import { scanStatement, type Scan, type ScannedRows } from './scan-statements.js';
import {
  pageOf,
  pageOfIds,
  recordsOf,
  recordView,
  type Budget,
  type ListWindow,
  type PageWalk,
  type TenantRead,
} from './page-statements.js';
import { Parameters } from './parameters.js';
import { WORKFLOW_COLUMNS } from '../rows.js';
import { boundsOf, type Cursor } from './walk-bounds.js';

export type { Scan, ScanRow } from './scan-statements.js';
export type { Budget, ListWindow, TenantRead, Sized } from './page-statements.js';

/**
 * Lists are the only statements assembled from parts, because callers choose the filters. Every part is a constant;
 * values are passed as parameters. Jobs are in job-lists.ts, dead letters in dead-letter-lists.ts.
 *
 * Each list walks one index in order of id, which is the order of creation, and stops at the end of the page; only the
 * rows of the page are then joined with the rest of their record (see page-statements.ts). The filter decides which
 * index: the status determines the table to walk.
 */
export interface WorkflowFilter extends WorkflowScope {
  readonly tenant: string;
}

/** `where` is what an index serves, `fits` what is left to look at. */
const RUNS = 'millrace.workflow_runs w';
const ENDS = 'millrace.workflow_ends w';
const WORKFLOWS: Record<WorkflowStatus, ScannedRows> = {
  created: { from: RUNS, where: 'true', fits: `w.status = 'created'` },
  running: { from: RUNS, where: 'true', fits: `w.status = 'running'` },
  completed: { from: ENDS, where: `w.status = 'completed'` },
  failed: { from: ENDS, where: `w.status = 'failed'` },
  partially_failed: { from: ENDS, where: `w.status = 'partially_failed'` },
  cancelled: { from: ENDS, where: `w.status = 'cancelled'` },
};
const ALL_WORKFLOWS: ScannedRows = { from: 'millrace.workflows w', where: 'true' };

const SUMMARY_COLUMNS = WORKFLOW_COLUMNS.filter((column) => !['definition', 'context', 'unmerged'].includes(column));

const JOBS_OF_STEPS = `
  SELECT j.id, j.step FROM millrace.jobs j WHERE j.workflow_id = r.id AND j.step IS NOT NULL OFFSET 0`;

/**
 * How many steps have a job that has never begun. The letters of a state do not tell them from steps that run. A step
 * that waits for a signal has begun.
 */
const STEPS_THAT_WAIT = `
  CASE WHEN position('${STEP.enqueued}' IN r.state) = 0 THEN 0 ELSE (
    SELECT count(*)::int FROM (${JOBS_OF_STEPS}) AS j, LATERAL (
      SELECT FROM millrace.ready w
      WHERE w.tenant = r.tenant AND w.id = j.id AND w.delivery_count = 0 AND w.queue <> '${WAITS_QUEUE}' OFFSET 0
    ) AS w
  ) END`;

/** The step that failed first and the first line of its error, in JSON. */
const FAILED_STEP = `
  CASE WHEN position('${STEP.failed}' IN r.state) > 0 THEN (
    SELECT json_build_object('name', j.step, 'error', nullif(left(rtrim(split_part(
      ltrim(left(d.error, 4000), E' \\t\\r\\n'), E'\\n', 1), E' \\t\\r'), ${FAILED_STEP_ERROR_LENGTH}), ''))::text
    FROM (${JOBS_OF_STEPS}) AS j, LATERAL (
      SELECT d.completed_at, d.error FROM millrace.done d
      WHERE d.tenant = r.tenant AND d.status = 'failed' AND d.id = j.id OFFSET 0
    ) AS d
    ORDER BY d.completed_at, j.id LIMIT 1
  ) END`;

const WORKFLOW_VIEWS = {
  full: recordView('millrace.workflow_records', WORKFLOW_COLUMNS, ['definition', 'metadata', 'context']),
  summary: {
    ...recordView('millrace.workflow_records', SUMMARY_COLUMNS, ['metadata']),
    computed: { waiting: STEPS_THAT_WAIT, failed_step: FAILED_STEP },
  },
};

export type WorkflowView = keyof typeof WORKFLOW_VIEWS;

export function listWorkflows(filter: WorkflowFilter, window: ListWindow, view: WorkflowView = 'full'): TenantRead {
  const walked = walkedWorkflows(filter, cursorOf(window));
  return pageOf(WORKFLOW_VIEWS[view], 'list_workflows', filter.tenant, walked, window);
}

export const workflowsOf = (
  tenant: string,
  ids: readonly string[],
  budget: Budget,
  view: WorkflowView = 'full',
): TenantRead => recordsOf(WORKFLOW_VIEWS[view], 'workflows_of', tenant, ids, budget);

export const workflowsWithIds = (
  tenant: string,
  ids: readonly string[],
  ascending: boolean,
  view: WorkflowView,
): TenantRead => pageOfIds(WORKFLOW_VIEWS[view], 'workflows_with_ids', tenant, ids, ascending);

export function countWorkflows(filter: WorkflowFilter): TenantRead {
  return countOf('count_workflows', filter.tenant, walkedWorkflows(filter, null));
}

/**
 * The name is searched for: no index serves it. `states`: those that are walked side by side, if no status is given.
 */
export function scanWorkflows(
  filter: WorkflowFilter,
  scan: Scan,
  states: readonly TerminalWorkflowStatus[] = [],
): TenantRead {
  const parameters = new Parameters(filter.tenant);
  const bounds = boundsOf(filter, cursorOf(scan), parameters).map((bound) => `w.id ${bound}`);
  const sources =
    filter.status === null && states.length > 0 ? states.map((each) => WORKFLOWS[each]) : [sourceOf(filter)];
  const walks = sources.map(({ from, where, ...fits }) => {
    return { from, where: [`w.tenant = ${parameters.tenant}`, where, ...bounds].join(' AND '), ...fits };
  });
  const hit =
    filter.name === null ? 'true' : hasName({ ...filter, status: filter.status ?? states[0] ?? null }, parameters);
  const parts = { name: 'look_for_workflows', tenant: filter.tenant, walks, parameters, order: ['id'] as const };
  return scanStatement({ ...parts, hit: () => hit }, scan);
}

function hasName({ status, name }: WorkflowFilter, parameters: Parameters): string {
  const wanted = parameters.add(name);
  if (status === null) return `w.name = ${wanted}`;
  const ofRun = `SELECT f.name FROM millrace.workflows f WHERE f.tenant = ${parameters.tenant} AND f.id = w.id`;
  return `(${ofRun}) = ${wanted}`;
}

const sourceOf = ({ status }: WorkflowFilter): ScannedRows => (status === null ? ALL_WORKFLOWS : WORKFLOWS[status]);

function walkedWorkflows(filter: WorkflowFilter, cursor: Cursor | null): PageWalk {
  const { from, where, fits = 'true' } = sourceOf(filter);
  const parameters = new Parameters(filter.tenant);
  const conditions = [where, fits];
  if (filter.name !== null) conditions.push(hasName(filter, parameters));
  return inOrderOfId({ from, conditions, parameters }, filter, cursor);
}

interface Walk {
  readonly from: string;
  readonly conditions: readonly string[];
  readonly parameters: Parameters;
}

function inOrderOfId({ from, conditions, parameters }: Walk, range: CreatedRange, cursor: Cursor | null): PageWalk {
  const bounds = boundsOf(range, cursor, parameters).map((bound) => `w.id ${bound}`);
  const where = [`w.tenant = ${parameters.tenant}`, ...conditions, ...bounds];
  return { walk: `FROM ${from} WHERE ${where.join(' AND ')}`, parameters };
}

const countOf = (name: string, tenant: string, { walk, parameters }: PageWalk): TenantRead => ({
  tenant,
  statement: parameters.of(name, `SELECT count(*)::float8 AS total ${walk}`),
});

const cursorOf = ({ after, ascending }: Pick<ListWindow, 'after' | 'ascending'>): Cursor | null =>
  after === null ? null : { id: after, ascending };

export interface CronFilter extends CreatedRange {
  readonly tenant: string;
}

const CRONS = recordView('millrace.crons', CRON_COLUMNS, ['payload', 'workflow']);

export function listCrons(filter: CronFilter, window: ListWindow): TenantRead {
  return pageOf(CRONS, 'list_crons', filter.tenant, walkedCrons(filter, cursorOf(window)), window);
}

export const cronsOf = (tenant: string, ids: readonly string[], budget: Budget): TenantRead =>
  recordsOf(CRONS, 'crons_of', tenant, ids, budget);

export function countCrons(filter: CronFilter): TenantRead {
  return countOf('count_crons', filter.tenant, walkedCrons(filter, null));
}

function walkedCrons(filter: CronFilter, cursor: Cursor | null): PageWalk {
  const parameters = new Parameters(filter.tenant);
  return inOrderOfId({ from: 'millrace.crons w', conditions: [], parameters }, filter, cursor);
}

/** The expression of the index crons_by_due; its predicate is below. The planner chooses the index only with both. */
const DUE = `CASE WHEN w.enabled THEN w.next_run_at ELSE 'infinity'::timestamptz END`;

/** In the order in which schedules fire next; backwards only for the page before another one. */
export function listCronsByDue(filter: CronFilter, window: ListWindow<CronDue>): TenantRead {
  const { walk, parameters } = walkedCrons(filter, null);
  const { after, ascending } = window;
  let from = `${walk} AND w.created_at > '-infinity'`;
  if (after !== null) {
    const place = `(${parameters.add(after.at ?? 'infinity')}::timestamptz, ${parameters.add(after.id)}::uuid)`;
    from += ` AND (${DUE}, w.id) ${ascending ? '>' : '<'} ${place}`;
  }
  const placed = { ...window, after: after?.id ?? null };
  return pageOf(CRONS, 'list_crons_by_due', filter.tenant, { walk: from, parameters, rank: DUE }, placed);
}

export interface FiringFilter extends CronFilter {
  readonly cronId: string;
}

/** The cursor is the number of a firing. */
export type FiringWindow = ListWindow<number>;

/** A schedule keeps at most a thousand firings, so they are simply sorted. */
export function listFirings(filter: FiringFilter, window: FiringWindow): TenantRead {
  const { where, parameters } = firingsWhere(filter);
  const order = window.ascending ? 'ASC' : 'DESC';
  let text = `SELECT ${FIRING_COLUMNS.join(', ')} FROM millrace.cron_firings WHERE ${where}`;
  if (window.after !== null)
    text += ` AND number ${window.ascending ? '>' : '<'} ${parameters.add(window.after)}::bigint`;
  text += ` ORDER BY number ${order} LIMIT ${parameters.add(window.limit)} OFFSET ${parameters.add(window.offset)}`;
  return { tenant: filter.tenant, statement: parameters.of('list_firings', text) };
}

export function countFirings(filter: FiringFilter): TenantRead {
  const { where, parameters } = firingsWhere(filter);
  const text = `SELECT count(*)::float8 AS total FROM millrace.cron_firings WHERE ${where}`;
  return { tenant: filter.tenant, statement: parameters.of('count_firings', text) };
}

function firingsWhere({ tenant, cronId, createdAfter, createdBefore }: FiringFilter) {
  const parameters = new Parameters(tenant);
  const conditions = [`tenant = ${parameters.tenant}`, `cron_id = ${parameters.add(cronId)}`];
  if (createdAfter !== null) conditions.push(`fired_at >= ${parameters.add(createdAfter)}::timestamptz`);
  if (createdBefore !== null) conditions.push(`fired_at < ${parameters.add(createdBefore)}::timestamptz`);
  return { where: conditions.join(' AND '), parameters };
}
