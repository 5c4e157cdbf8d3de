import type { JobStatus } from '@millrace/contract';
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

export interface ListWindow {
  readonly ascending: boolean;
  /** The id the last page ended with. */
  readonly after: string | null;
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
  running: { from: 'millrace.leases w', where: 'true' },
  completed: { from: 'millrace.done w', where: `w.status = 'completed'` },
  failed: { from: 'millrace.done w', where: `w.status = 'failed'` },
  cancelled: { from: 'millrace.done w', where: `w.status = 'cancelled'` },
};
const ALL = { from: 'millrace.jobs w', where: 'true' };
/** The queue stands in `ready` and `jobs` themselves; the other tables need their job for it. */
const WITH_JOB = ' JOIN millrace.jobs q ON q.tenant = w.tenant AND q.id = w.id';

export function listJobs(filter: ListFilter, window: ListWindow): Query {
  const { walk, values } = walked(
    filter,
    window.after === null ? null : { id: window.after, ascending: window.ascending },
  );
  const order = window.ascending ? 'ASC' : 'DESC';
  values.push(window.limit, window.offset);
  const page = `SELECT w.tenant, w.id ${walk} ORDER BY w.id ${order} LIMIT $${values.length - 1} OFFSET $${values.length}`;
  const text = `SELECT rec.* FROM (${page}) AS page, LATERAL (
    SELECT * FROM millrace.job_records r WHERE r.tenant = page.tenant AND r.id = page.id OFFSET 0
  ) AS rec ORDER BY page.id ${order}`;
  return { statement: { name: 'list_jobs', text }, values };
}

export function countJobs(filter: ListFilter): Query {
  const { walk, values } = walked(filter, null);
  return { statement: { name: 'count_jobs', text: `SELECT count(*)::float8 AS total ${walk}` }, values };
}

function walked(
  filter: ListFilter,
  cursor: { id: string; ascending: boolean } | null,
): { walk: string; values: unknown[] } {
  const source = filter.status === null ? ALL : WALKED[filter.status];
  const values: unknown[] = [filter.tenant];
  const conditions = ['w.tenant = $1', source.where];
  const add = (condition: (placeholder: string) => string, value: unknown) => {
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  let from = source.from;
  if (filter.queue !== null) {
    const inPlace = source === ALL || source.from === READY;
    if (!inPlace) from += WITH_JOB;
    add((p) => `${inPlace ? 'w' : 'q'}.queue = ${p}`, filter.queue);
  }
  if (filter.createdAfter !== null) add((p) => `w.id >= millrace.first_id(${p}::timestamptz)`, filter.createdAfter);
  if (filter.createdBefore !== null) add((p) => `w.id < millrace.first_id(${p}::timestamptz)`, filter.createdBefore);
  if (cursor) add((p) => `w.id ${cursor.ascending ? '>' : '<'} ${p}::uuid`, cursor.id);
  return { walk: `FROM ${from} WHERE ${conditions.join(' AND ')}`, values };
}

export type DeadLetterFilter = Pick<ListFilter, 'tenant' | 'createdAfter' | 'createdBefore'>;

export interface DeadLetterWindow extends Omit<ListWindow, 'after'> {
  readonly after: { readonly createdAt: string; readonly id: number } | null;
}

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
