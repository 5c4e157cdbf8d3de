import { uuidArray } from '../arrays.js';
import type { Statement } from '../sql.js';
import { Parameters } from './parameters.js';

/**
 * How a page of large records is read without holding all of it in memory at once.
 *
 * `pageOf` walks to the end of the page and includes the bodies of its first records, up to SMALL_PAGE_BYTES of stored
 * size. That completes almost every page. The other records of the page come without their bodies, and `recordsOf`
 * reads those, a few megabytes at a time.
 *
 * PostgreSQL must decompress a text to know its real length, and the stored length says little about it: one stored
 * byte can expand to as many as 90. So the first statement looks at the stored size, which costs nothing, under a bound
 * that keeps even such a page to about MAX_PAGE_BYTES; the second measures the texts one by one and stops at its
 * budget.
 */
export interface RecordView {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns that may be large. */
  readonly bodies: readonly string[];
  /** A column with the number of bytes that belong to the record but are read separately. */
  readonly bytesElsewhere?: string;
  /** What is computed for each record of a page: by name, an expression over `r`. */
  readonly computed?: Readonly<Record<string, string>>;
}

/** Builds a view whose `columns` are all columns except the bodies. */
export const recordView = (name: string, columns: readonly string[], bodies: readonly string[]): RecordView => ({
  name,
  columns: columns.filter((column) => !bodies.includes(column)),
  bodies,
});

export interface TenantRead {
  /** The owner of the rows, whose turn the read takes. */
  readonly tenant: string;
  readonly statement: Statement;
  /** It looks at a bounded number of rows through indexes, whoever it is for, so it needs no plan of its own. */
  readonly isBounded?: boolean;
}

/** Where a page begins and how far it goes. */
export interface ListWindow<At = string> {
  readonly ascending: boolean;
  /** Where the last page ended: by default, its last id. */
  readonly after: At | null;
  readonly limit: number;
  readonly offset: number;
}

/** How much is read at once. */
export interface Budget {
  readonly maxBytes: number;
  /** Read the first record however large it is. */
  readonly atLeastOne: boolean;
}

/** Says whether a record includes its bodies. */
export interface Sized {
  readonly whole: boolean;
}

const SMALL_PAGE_BYTES = 128 * 1024;

/** Finds the records of a page, in order of id or, if there is a rank, of rank and then id. */
export interface PageWalk {
  readonly walk: string;
  readonly parameters: Parameters;
  /** An expression over `w`. */
  readonly rank?: string;
}

/** The records with these ids, as a page that is complete. */
export function pageOfIds(
  view: RecordView,
  statement: string,
  tenant: string,
  ids: readonly string[],
  ascending: boolean,
): TenantRead {
  const parameters = new Parameters(tenant);
  const { tenant: owner } = parameters;
  const asked = parameters.add(uuidArray(ids));
  const walk = `FROM (SELECT ${owner}::text COLLATE "C" AS tenant, unnest(${asked}::uuid[]) AS id) AS w`;
  const window = { ascending, after: null, limit: ids.length, offset: 0 };
  return pageOf(view, statement, tenant, { walk, parameters }, window);
}

/** One page of a view's records; each says whether it is `whole`. */
export function pageOf(
  view: RecordView,
  statement: string,
  tenant: string,
  { walk, parameters, rank }: PageWalk,
  window: ListWindow,
): TenantRead {
  const order = window.ascending ? 'ASC' : 'DESC';
  const [ranked, first] = rank === undefined ? ['', ''] : [`, ${rank} AS rank`, `${rank} ${order}, `];
  const inOrder = (table: string): string => `${rank === undefined ? '' : `${table}.rank ${order}, `}${table}.`;
  const page = `SELECT w.tenant, w.id${ranked} ${walk}
    ORDER BY ${first}w.id ${order} LIMIT ${parameters.add(window.limit)} OFFSET ${parameters.add(window.offset)}`;
  const stored = sumOf(
    view,
    view.bodies.map((body) => `pg_column_size(r.${body})`),
  );
  const bodies = view.bodies.map(
    (body) => `CASE WHEN sized.stored <= ${SMALL_PAGE_BYTES} THEN sized.${body} END AS ${body}`,
  );
  const text = `
    SELECT ${columnsOf('sized', [...view.columns, ...Object.keys(view.computed ?? {})])}, ${bodies.join(', ')},
           sized.stored <= ${SMALL_PAGE_BYTES} AS whole
    FROM (
      SELECT rec.*, page.id AS place${rank === undefined ? '' : ', page.rank'},
             sum(rec.stored_here) OVER (ORDER BY ${inOrder('page')}id ${order} ROWS UNBOUNDED PRECEDING) AS stored
      FROM (${page}) AS page, LATERAL (
        SELECT ${recordOf(view)}, ${stored} AS stored_here
        FROM ${view.name} r WHERE r.tenant = page.tenant AND r.id = page.id OFFSET 0
      ) AS rec
    ) AS sized ORDER BY ${inOrder('sized')}place ${order}`;
  return { tenant, statement: parameters.of(statement, text) };
}

/** The records with these ids, in this order, as many as fit into the budget. */
export function recordsOf(
  view: RecordView,
  statement: string,
  tenant: string,
  ids: readonly string[],
  { maxBytes, atLeastOne }: Budget,
): TenantRead {
  const length = sumOf(
    view,
    view.bodies.map((body) => `octet_length(r.${body}::text)`),
  );
  const parameters = new Parameters(tenant);
  const { tenant: owner } = parameters;
  const asked = `${parameters.add(uuidArray(ids))}::uuid[]`;
  const most = `${parameters.add(maxBytes)}::int`;
  const oneAtLeast = `${parameters.add(atLeastOne)}::boolean`;
  const record = (place: string): string => `${view.name} r WHERE r.tenant = ${owner} AND r.id = (${asked})[${place}]`;
  const lengthOf = (place: string): string => `coalesce((SELECT ${length} FROM ${record(place)}), 0)`;
  const text = `
    WITH RECURSIVE measured AS (
      SELECT 1 AS place, 0 AS before, ${lengthOf('1')} AS bytes
      UNION ALL
      SELECT place + 1, bytes, bytes + ${lengthOf('place + 1')}
      FROM measured WHERE place < cardinality(${asked}) AND bytes < ${most}
    )
    SELECT rec.* FROM measured, LATERAL (
      SELECT ${recordOf(view)}
      FROM ${record('measured.place')} OFFSET 0
    ) AS rec
    WHERE (${oneAtLeast} AND measured.before = 0) OR measured.bytes <= ${most}
    ORDER BY measured.place`;
  return { tenant, statement: parameters.of(statement, text) };
}

function sumOf({ bytesElsewhere }: RecordView, lengths: readonly string[]): string {
  const all = bytesElsewhere === undefined ? lengths : [...lengths, `r.${bytesElsewhere}`];
  return all.map((length) => `coalesce(${length}, 0)`).join(' + ');
}

function recordOf({ columns, bodies, computed = {} }: RecordView): string {
  const expressions = Object.entries(computed).map(([name, expression]) => `${expression} AS ${name}`);
  return [columnsOf('r', [...columns, ...bodies]), ...expressions].join(', ');
}

const columnsOf = (table: string, columns: readonly string[]): string =>
  columns.map((column) => `${table}.${column}`).join(', ');
