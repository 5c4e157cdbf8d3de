import type { DeadLetterFilter } from '../../domain/filters.js';
import { int8Array } from '../arrays.js';
import { scanStatement, type Scan } from './scan-statements.js';
import type { ListWindow, TenantRead } from './page-statements.js';
import { Parameters } from './parameters.js';
import { DEAD_LETTER_COLUMNS } from '../rows.js';

/**
 * Lists of dead letters, in the order of created_at and then id. A job and a fingerprint have indexes; the other
 * filters are searched for (see scan-statements.ts).
 */
export interface TenantDeadLetterFilter extends DeadLetterFilter {
  readonly tenant: string;
}

/** Where a page of dead letters ended. */
export interface DeadLetterAt {
  readonly createdAt: string;
  readonly id: number;
}

export function listDeadLetters(filter: TenantDeadLetterFilter, window: ListWindow<DeadLetterAt>): TenantRead {
  const { where, fits, parameters } = conditionsOf(filter, window);
  const found = `FROM millrace.dead_letters w WHERE ${[...where, ...fits].join(' AND ')}
    ${inOrder('w', window)} LIMIT ${parameters.add(window.limit)} OFFSET ${parameters.add(window.offset)}`;
  return { tenant: filter.tenant, statement: parameters.of('list_dead_letters', recordsOf(found, window)) };
}

/** Whether a list has to be searched. */
export const isDeadLetterSearch = ({ jobId, queue, task, reason, replayed }: TenantDeadLetterFilter): boolean =>
  jobId === null && [queue, task, reason, replayed].some((wanted) => wanted !== null);

export function scanDeadLetters(filter: TenantDeadLetterFilter, scan: Scan<DeadLetterAt>): TenantRead {
  return scanFor('look_for_dead_letters', filter, scan, conditionsOf(filter, scan));
}

/** What a list of groups chooses entries by. */
export type GroupFilter = Pick<TenantDeadLetterFilter, 'tenant' | 'queue' | 'task' | 'replayed' | 'createdAfter'>;

/**
 * The newest entries of groups: those that no other entry of their group follows, on the same queue and replayed or not
 * as they are, where that is asked for.
 */
export function scanGroups(wanted: GroupFilter, scan: Scan<DeadLetterAt>): TenantRead {
  const filter = { ...EVERY_ENTRY, ...wanted };
  const { queue, replayed } = filter;
  const conditions = conditionsOf(filter, scan);
  const { fits, parameters } = conditions;
  const onQueue = queue === null ? '' : `AND later.queue = ${parameters.add(queue)}`;
  const alike = replayed === null ? '' : `AND ${isReplayed('later', replayed)}`;
  const isNewest = `NOT EXISTS (
    SELECT FROM millrace.dead_letters later
    WHERE later.tenant = w.tenant AND later.fingerprint = w.fingerprint ${onQueue} ${alike}
      AND (later.created_at, later.id) > (w.created_at, w.id)
  )`;
  return scanFor('look_for_groups', filter, scan, { ...conditions, fits: [...fits, isNewest] });
}

const EVERY_ENTRY: DeadLetterFilter = {
  queue: null,
  task: null,
  reason: null,
  replayed: null,
  jobId: null,
  fingerprint: null,
  createdAfter: null,
  createdBefore: null,
};

function scanFor(
  name: string,
  { tenant }: TenantDeadLetterFilter,
  scan: Scan<DeadLetterAt>,
  { where, fits, parameters }: Conditions,
): TenantRead {
  const walks = [{ from: 'millrace.dead_letters w', where: where.join(' AND ') }];
  const order = ['created_at', 'id'] as const;
  const hit = fits.length === 0 ? 'true' : fits.join(' AND ');
  return scanStatement({ name, tenant, walks, hit: () => hit, parameters, order }, scan);
}

export function deadLettersAt(tenant: string, places: readonly DeadLetterAt[], ascending: boolean): TenantRead {
  const parameters = new Parameters(tenant);
  const ids = parameters.add(int8Array(places.map(({ id }) => id)));
  const found = `FROM millrace.dead_letters w WHERE w.tenant = ${parameters.tenant} AND w.id = ANY (${ids}::bigint[])`;
  return { tenant, statement: parameters.of('dead_letters_at', recordsOf(found, { ascending })) };
}

export function countDeadLetters(filter: TenantDeadLetterFilter): TenantRead {
  const { where, fits, parameters } = conditionsOf(filter, { ascending: true, after: null });
  const text = `SELECT count(*)::float8 AS total FROM millrace.dead_letters w WHERE ${[...where, ...fits].join(' AND ')}`;
  return { tenant: filter.tenant, statement: parameters.of('count_dead_letters', text) };
}

const COLUMNS = DEAD_LETTER_COLUMNS.filter((column) => column !== 'payload_bytes').map((column) => `w.${column}`);

/** Only the entries of the page look up the payload of their job. */
const recordsOf = (found: string, window: Pick<ListWindow, 'ascending'>): string => `
    SELECT ${COLUMNS.join(', ')}, (
      SELECT millrace.payload_bytes(j.payload, j.context, j.context_bytes)
      FROM millrace.jobs j WHERE j.tenant = w.tenant AND j.id = w.job_id
    ) AS payload_bytes
    FROM (SELECT ${COLUMNS.join(', ')} ${found}) AS w ${inOrder('w', window)}`;

function inOrder(table: string, { ascending }: Pick<ListWindow, 'ascending'>): string {
  const order = ascending ? 'ASC' : 'DESC';
  return `ORDER BY ${table}.created_at ${order}, ${table}.id ${order}`;
}

const isReplayed = (table: string, replayed: boolean): string =>
  `${table}.replayed_at IS ${replayed ? 'NOT NULL' : 'NULL'}`;

/** `where` is what an index serves, `fits` what is left to look at. */
interface Conditions {
  readonly where: readonly string[];
  readonly fits: readonly string[];
  readonly parameters: Parameters;
}

function conditionsOf(
  filter: TenantDeadLetterFilter,
  { ascending, after }: Pick<ListWindow<DeadLetterAt>, 'ascending' | 'after'>,
): Conditions {
  const parameters = new Parameters(filter.tenant);
  const [where, fits] = [[`w.tenant = ${parameters.tenant}`], [] as string[]];
  const named = (value: string | null, condition: (name: string) => string, to: string[]): void => {
    if (value !== null) to.push(condition(parameters.add(value)));
  };
  named(filter.jobId, (name) => `w.job_id = ${name}::uuid`, where);
  named(filter.fingerprint, (name) => `w.fingerprint = ${name}`, where);
  named(filter.createdAfter, (name) => `w.created_at >= ${name}::timestamptz`, where);
  named(filter.createdBefore, (name) => `w.created_at < ${name}::timestamptz`, where);
  if (after !== null) {
    const place = `(${parameters.add(after.createdAt)}::timestamptz, ${parameters.add(after.id)}::bigint)`;
    where.push(`(w.created_at, w.id) ${ascending ? '>' : '<'} ${place}`);
  }
  named(filter.queue, (name) => `w.queue = ${name}`, fits);
  named(filter.task, (name) => `w.task = ${name}`, fits);
  named(filter.reason, (name) => `w.reason = ${name}::millrace.dead_reason`, fits);
  if (filter.replayed !== null) fits.push(isReplayed('w', filter.replayed));
  return { where, fits, parameters };
}
