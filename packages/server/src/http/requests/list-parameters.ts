import {
  NAME_MAX_LENGTH,
  CRON_ORDERS,
  DEAD_LETTER_REASONS,
  DEFAULT_TIME_ZONE,
  ENDED_LIMITS,
  ERROR_SEARCH_LENGTH,
  JOB_STATUSES,
  METADATA_PREFIX,
  NEXT_RUNS_LIMITS,
  ORDERS,
  PAGE_LIMITS,
  QUEUE_PAGE_LIMITS,
  TERMINAL_JOB_STATUSES,
  VIEWS,
  WAIT_LIMITS,
  WORKFLOW_STATUSES,
} from '@millrace/contract';
import { QueryReader, type Limits, type QueryParameters } from '@millrace/sdk/rules';
import { invalidField } from '../../domain/errors.js';
import type { MetadataField } from '../../domain/filters.js';
import { characterCount, isStorableText } from '../../domain/text.js';
import type { CronSpec } from '../../domain/cron-records.js';
import type {
  CronListQuery,
  DeadLetterGroupsQuery,
  DeadLetterListQuery,
  EndedJobsQuery,
  JobListQuery,
  ListQuery,
  LogsQuery,
  QueueListQuery,
  SeriesQuery,
  WaitsQuery,
  WorkflowListQuery,
} from '../../engine/api.js';

/**
 * Query strings are text. Each parameter is read by a rule that the SDK's fake server shares: numbers out of range are
 * clamped, any other invalid value is refused, and unknown parameters are ignored.
 */
export type { QueryParameters } from '@millrace/sdk/rules';

const read = new QueryReader(invalidField);

const OFFSETS: Limits = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 };

export function listQuery(query: QueryParameters): ListQuery {
  const cursor = read.text(query, 'cursor');
  return {
    limit: pageLimit(query),
    offset: cursor === null ? read.wholeNumber(query, 'offset', OFFSETS) : 0,
    ascending: read.oneOf(query, 'order_by', ORDERS) === 'created_at ASC',
    includeTotal: read.truth(query, 'include_total'),
    cursor,
    createdAfter: read.instant(query, 'created_after'),
    createdBefore: read.instant(query, 'created_before'),
  };
}

const truthOrNull = (query: QueryParameters, name: string): boolean | null =>
  query[name] === undefined ? null : read.truth(query, name);

const pageLimit = (query: QueryParameters): number => read.wholeNumber(query, 'limit', PAGE_LIMITS);

export function queueListQuery(query: QueryParameters): QueueListQuery {
  return {
    limit: read.wholeNumber(query, 'limit', QUEUE_PAGE_LIMITS),
    cursor: read.text(query, 'cursor'),
    idle: read.truth(query, 'idle'),
  };
}

export function waitsQuery(query: QueryParameters): WaitsQuery {
  return {
    name: read.text(query, 'name'),
    key: read.text(query, 'key'),
    asks: read.truth(query, 'ask'),
    limit: pageLimit(query),
    cursor: read.text(query, 'cursor'),
  };
}

export function jobListQuery(query: QueryParameters): JobListQuery {
  return {
    ...listQuery(query),
    statuses: read.someOf(query, 'status', JOB_STATUSES),
    queue: read.text(query, 'queue'),
    task: read.text(query, 'task'),
    due: truthOrNull(query, 'due'),
    error: errorSearch(query),
    metadata: metadataField(query),
    workflowId: read.text(query, 'workflow_id'),
    idempotencyKey: read.text(query, 'idempotency_key'),
    parentId: read.text(query, 'parent_job_id'),
  };
}

function errorSearch(query: QueryParameters): string | null {
  const error = read.text(query, 'error');
  if (error === null) return null;
  const { minimum, maximum } = ERROR_SEARCH_LENGTH;
  const length = characterCount(error);
  if (length < minimum || length > maximum)
    throw invalidField('error', `must have from ${minimum} to ${maximum} characters`);
  return error;
}

/** The name of the field is part of that of the parameter. */
function metadataField(query: QueryParameters): MetadataField | null {
  const [name, ...others] = Object.keys(query).filter((each) => each.startsWith(METADATA_PREFIX));
  if (name === undefined) return null;
  if (others.length > 0) throw invalidField(others[0]!.slice(0, NAME_MAX_LENGTH), 'only one field can be searched for');
  const field = name.slice(METADATA_PREFIX.length);
  const value = read.text(query, name) ?? '';
  const isName = field !== '' && characterCount(field) <= NAME_MAX_LENGTH && isStorableText(field);
  if (!isName) throw invalidField('metadata', `must name a field of at most ${NAME_MAX_LENGTH} characters`);
  if (characterCount(value) > NAME_MAX_LENGTH)
    throw invalidField(name, `must have at most ${NAME_MAX_LENGTH} characters`);
  return { field, value };
}

export function endedJobsQuery(query: QueryParameters): EndedJobsQuery {
  return {
    after: read.text(query, 'after'),
    limit: read.wholeNumber(query, 'limit', ENDED_LIMITS),
    statuses: read.someOf(query, 'status', TERMINAL_JOB_STATUSES),
    queue: read.text(query, 'queue'),
    task: read.text(query, 'task'),
  };
}

export function workflowListQuery(query: QueryParameters): WorkflowListQuery {
  return {
    ...listQuery(query),
    status: read.oneOf(query, 'status', WORKFLOW_STATUSES),
    name: read.text(query, 'name'),
  };
}

/** Whether a list leaves out what may be large. */
export const wantsSummary = (query: QueryParameters): boolean => read.oneOf(query, 'view', VIEWS) === 'summary';

export function deadLetterListQuery(query: QueryParameters): DeadLetterListQuery {
  return {
    ...listQuery(query),
    queue: read.text(query, 'queue_name'),
    task: read.text(query, 'task_name'),
    reason: read.oneOf(query, 'reason', DEAD_LETTER_REASONS),
    replayed: truthOrNull(query, 'replayed'),
    jobId: read.text(query, 'job_id'),
    fingerprint: read.text(query, 'fingerprint'),
  };
}

export function deadLetterGroupsQuery(query: QueryParameters): DeadLetterGroupsQuery {
  return {
    since: read.instant(query, 'since'),
    queue: read.text(query, 'queue_name'),
    task: read.text(query, 'task_name'),
    replayed: truthOrNull(query, 'replayed'),
    limit: pageLimit(query),
    cursor: read.text(query, 'cursor'),
  };
}

export function cronListQuery(query: QueryParameters): CronListQuery {
  const byNextRun = read.oneOf(query, 'order_by', CRON_ORDERS) === 'next_run_at ASC';
  return { ...listQuery(byNextRun ? { ...query, order_by: 'created_at ASC' } : query), byNextRun };
}

/** The timetable to preview. */
export function previewTimetable(query: QueryParameters): Pick<CronSpec, 'expr' | 'timezone'> {
  const expr = read.text(query, 'expr');
  if (expr === null) throw invalidField('expr', 'is required');
  if (expr.length > NAME_MAX_LENGTH) throw invalidField('expr', `must have at most ${NAME_MAX_LENGTH} characters`);
  return { expr, timezone: read.text(query, 'timezone') ?? DEFAULT_TIME_ZONE };
}

export const nextRunsCount = (query: QueryParameters): number => read.wholeNumber(query, 'count', NEXT_RUNS_LIMITS);

/** The queue that counts are asked for; null for all. */
export const countsQuery = (query: QueryParameters): string | null => read.text(query, 'queue');

export function seriesQuery(query: QueryParameters): SeriesQuery {
  const from = read.instant(query, 'from');
  const to = read.instant(query, 'to');
  if (from !== null && to !== null && Date.parse(from) > Date.parse(to))
    throw invalidField('from', 'must not be after to');
  return { queue: read.text(query, 'queue'), task: read.text(query, 'task'), from, to };
}

export const waitSecs = (query: QueryParameters): number => read.wholeNumber(query, 'wait_secs', WAIT_LIMITS);

/** 0 stands for all attempts; there is none of that number. */
const ATTEMPTS: Limits = { minimum: 0, maximum: 2_147_483_647, default: 0 };

export function logsQuery(query: QueryParameters): LogsQuery {
  const attempt = read.wholeNumber(query, 'attempt', ATTEMPTS);
  return { attempt: attempt === 0 ? null : attempt, after: read.text(query, 'after'), waitSecs: waitSecs(query) };
}
