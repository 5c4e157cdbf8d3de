import {
  NAME_MAX_LENGTH,
  CRON_ORDERS,
  DEAD_LETTER_REASONS,
  DEFAULT_TIME_ZONE,
  JOB_STATUSES,
  NEXT_RUNS_LIMITS,
  ORDERS,
  PAGE_LIMITS,
  QUEUE_PAGE_LIMITS,
  VIEWS,
  WAIT_LIMITS,
  WORKFLOW_STATUSES,
} from '@millrace/contract';
import { invalidField } from '../../domain/errors.js';
import { parseQueryInstant } from '../../domain/instant.js';
import type { CronSpec } from '../../domain/records.js';
import { isStorableText } from '../../domain/text.js';
import type {
  CronListQuery,
  CursorQuery,
  DeadLetterGroupsQuery,
  DeadLetterListQuery,
  JobListQuery,
  ListQuery,
  SeriesQuery,
  WorkflowListQuery,
} from '../../engine/api.js';

/**
 * Query strings are text. Each parameter is read by a rule in this file: numbers out of range are clamped, any other
 * invalid value is refused, and unknown parameters are ignored.
 */
export type Query = Readonly<Record<string, unknown>>;

interface Limits {
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
}

const OFFSETS: Limits = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 };
const WHOLE_NUMBER = /^-?\d+$/;

export function listQuery(query: Query): ListQuery {
  const cursor = textOf(query, 'cursor');
  return {
    limit: pageLimit(query),
    offset: cursor === null ? wholeNumber(query, 'offset', OFFSETS) : 0,
    ascending: isAscending(query),
    includeTotal: truth(query, 'include_total'),
    cursor,
    createdAfter: instant(query, 'created_after'),
    createdBefore: instant(query, 'created_before'),
  };
}

const pageLimit = (query: Query): number => wholeNumber(query, 'limit', PAGE_LIMITS);

export function queueListQuery(query: Query): CursorQuery {
  return { limit: wholeNumber(query, 'limit', QUEUE_PAGE_LIMITS), cursor: textOf(query, 'cursor') };
}

export function jobListQuery(query: Query): JobListQuery {
  return {
    ...listQuery(query),
    statuses: someOf(query, 'status', JOB_STATUSES),
    queue: textOf(query, 'queue'),
    task: textOf(query, 'task'),
    workflowId: textOf(query, 'workflow_id'),
    idempotencyKey: textOf(query, 'idempotency_key'),
  };
}

export function workflowListQuery(query: Query): WorkflowListQuery {
  return {
    ...listQuery(query),
    status: oneOf(query, 'status', WORKFLOW_STATUSES),
    name: textOf(query, 'name'),
  };
}

/** Whether a list leaves out what may be large. */
export const wantsSummary = (query: Query): boolean => oneOf(query, 'view', VIEWS) === 'summary';

export function deadLetterListQuery(query: Query): DeadLetterListQuery {
  return {
    ...listQuery(query),
    queue: textOf(query, 'queue_name'),
    task: textOf(query, 'task_name'),
    reason: oneOf(query, 'reason', DEAD_LETTER_REASONS),
    replayed: query.replayed === undefined ? null : truth(query, 'replayed'),
    jobId: textOf(query, 'job_id'),
    fingerprint: textOf(query, 'fingerprint'),
  };
}

export function deadLetterGroupsQuery(query: Query): DeadLetterGroupsQuery {
  return {
    since: instant(query, 'since'),
    queue: textOf(query, 'queue_name'),
    task: textOf(query, 'task_name'),
    limit: pageLimit(query),
    cursor: textOf(query, 'cursor'),
  };
}

export function cronListQuery(query: Query): CronListQuery {
  const byNextRun = oneOf(query, 'order_by', CRON_ORDERS) === 'next_run_at ASC';
  return { ...listQuery(byNextRun ? { ...query, order_by: 'created_at ASC' } : query), byNextRun };
}

/** The timetable to preview. */
export function previewTimetable(query: Query): Pick<CronSpec, 'expr' | 'timezone'> {
  const expr = textOf(query, 'expr');
  if (expr === null) throw invalidField('expr', 'is required');
  if (expr.length > NAME_MAX_LENGTH) throw invalidField('expr', `must have at most ${NAME_MAX_LENGTH} characters`);
  return { expr, timezone: textOf(query, 'timezone') ?? DEFAULT_TIME_ZONE };
}

export const nextRunsCount = (query: Query): number => wholeNumber(query, 'count', NEXT_RUNS_LIMITS);

/** The queue that counts are asked for; null for all. */
export const countsQuery = (query: Query): string | null => textOf(query, 'queue');

export function seriesQuery(query: Query): SeriesQuery {
  const from = instant(query, 'from');
  const to = instant(query, 'to');
  if (from !== null && to !== null && Date.parse(from) > Date.parse(to))
    throw invalidField('from', 'must not be after to');
  return { queue: textOf(query, 'queue'), task: textOf(query, 'task'), from, to };
}

export const waitSecs = (query: Query): number => wholeNumber(query, 'wait_secs', WAIT_LIMITS);

function textOf(query: Query, name: string): string | null {
  const value = query[name];
  if (value === undefined) return null;
  if (typeof value !== 'string') throw invalidField(name, 'must be given once');
  if (!isStorableText(value)) throw invalidField(name, 'must not contain NUL characters');
  return value;
}

/** Numbers too large to represent are clamped as well: it only matters on which side of the range they are. */
function wholeNumber(query: Query, name: string, { default: absent, minimum, maximum }: Limits): number {
  const text = textOf(query, name);
  if (text === null) return absent;
  if (!WHOLE_NUMBER.test(text)) throw invalidField(name, 'must be an integer');
  return Math.min(Math.max(Number(text), minimum), maximum);
}

function isAscending(query: Query): boolean {
  return oneOf(query, 'order_by', ORDERS) === 'created_at ASC';
}

function truth(query: Query, name: string): boolean {
  switch (textOf(query, name)) {
    case null:
    case 'false':
    case '0':
      return false;
    case 'true':
    case '1':
      return true;
    default:
      throw invalidField(name, 'must be true or false');
  }
}

function instant(query: Query, name: string): string | null {
  const text = textOf(query, name);
  if (text === null) return null;
  const parsed = parseQueryInstant(text);
  if (parsed === null) throw invalidField(name, 'must be an RFC 3339 instant with an offset or Z');
  return parsed;
}

function oneOf<T extends string>(query: Query, name: string, words: readonly T[]): T | null {
  const text = textOf(query, name);
  if (text === null) return null;
  const word = words.find((each) => each === text);
  if (word === undefined) throw invalidField(name, `must be one of ${words.join(', ')}`);
  return word;
}

/** Words separated by commas, in the order of `words`; none if there is nothing to choose from. */
function someOf<T extends string>(query: Query, name: string, words: readonly T[]): readonly T[] {
  const text = textOf(query, name);
  if (text === null) return [];
  const given = new Set(text.split(',').map((each) => each.trim()));
  const known = words.filter((word) => given.has(word));
  if (known.length < given.size) throw invalidField(name, `must be one or more of ${words.join(', ')}`);
  return known;
}
