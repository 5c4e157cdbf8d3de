import { jsonElements, jsonMember } from '@millrace/sdk';
import type { Connection } from '../connection/connect.js';
import type { Kind } from '../connection/recent-ids.js';
import type { Context } from '../invocation/context.js';
import type { Values } from '../specs/spec.js';
import type { LIST } from '../specs/lists.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { wholeNumber } from '../invocation/values.js';
import { ProgressLine } from './progress.js';
import { refreshing } from './refresh.js';
import { table, type Column } from './table.js';

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ListView<T> {
  readonly path: readonly string[];
  /** The member of a page that holds the rows. */
  readonly rows: string;
  readonly query: Query;
  /** Only for tables, which need less than the whole records. */
  readonly tableQuery?: Query;
  readonly columns: (now: Date) => readonly Column<T>[];
  /** What rows are, and how `@1` names them. */
  readonly kind?: Kind;
  readonly id: (row: T) => string;
  /** `no jobs` */
  readonly nothing: string;
  /** Lists that are shown whole, without limit and cursor; most have one page. */
  readonly whole?: true;
}

interface Page {
  readonly has_more?: boolean;
  readonly next_cursor?: string;
  readonly searched_to?: string;
}

type Listing = Pick<Context, 'io' | 'signal'> & { readonly options: Values<typeof LIST> };

/** The service's largest page. */
const PAGE = 100;
const DEFAULT_ROWS = 20;
/** A table is held in memory, to know how wide its columns are. */
const MOST_ROWS = 10_000;

/** A list as a table, as one page of JSON, or as lines of JSON. */
export async function showList<T>(context: Listing, connection: Connection, view: ListView<T>): Promise<number> {
  const { options } = context;
  if (options.json && (options.all || options.jsonl)) {
    throw new Misuse('--json prints one page; --jsonl, without it, prints as many rows as you like');
  }
  const isAll = options.all || view.whole === true;
  const limit = wholeNumber('limit', options.limit, 1, options.json ? PAGE : MOST_ROWS) ?? DEFAULT_ROWS;
  return refreshing(context, async () => {
    if (options.json) await showPage(context, connection, view, limit);
    else if (options.jsonl) await showLines(context, connection, view, isAll ? Infinity : limit);
    else await showTable(context, connection, view, isAll ? MOST_ROWS : limit);
    return EXIT.ok;
  });
}

async function showPage<T>(context: Listing, { raw }: Connection, view: ListView<T>, limit: number): Promise<void> {
  const paging = view.whole ? {} : { limit, cursor: context.options.cursor };
  const { text } = await raw.call(view.path, { query: { ...view.query, ...paging }, signal: context.signal });
  await context.io.print(text);
}

async function showLines<T>(context: Listing, connection: Connection, view: ListView<T>, most: number): Promise<void> {
  for await (const { rows } of pages(context, connection, view, most)) {
    if (rows.length > 0) await context.io.print(rows.join('\n'));
  }
}

async function showTable<T>(context: Listing, connection: Connection, view: ListView<T>, most: number): Promise<void> {
  const { io } = context;
  const found: T[] = [];
  let now = new Date();
  let more: string | undefined;
  const searching = new ProgressLine(io);
  try {
    for await (const page of pages(
      context,
      connection,
      { ...view, query: { ...view.query, ...view.tableQuery } },
      most,
    )) {
      found.push(...page.rows.map((row) => JSON.parse(row) as T));
      [now, more] = [page.now, page.next];
      if (page.searchedTo !== undefined) searching.update(`searched back to ${page.searchedTo}, found ${found.length}`);
    }
  } finally {
    searching.clear();
  }
  if (view.kind !== undefined) connection.recent.listed(view.kind, found.map(view.id));
  if (found.length === 0) io.complain(`${view.nothing}\n`);
  else await io.print(table(view.columns(now), found, connection.look));
  if (more === undefined) return;
  const how = view.whole ? '--jsonl prints them all' : `add --limit ${most * 2}, --all, or --cursor ${more}`;
  io.complain(`there are more; ${how}\n`);
}

interface Part {
  readonly rows: readonly string[];
  readonly now: Date;
  readonly searchedTo: string | undefined;
  /** Where the next page begins, if there is one. */
  readonly next: string | undefined;
}

/** Page after page, until there are enough rows. A search may take several pages to find a row. */
async function* pages<T>(
  { options, signal }: Listing,
  { raw }: Connection,
  view: ListView<T>,
  most: number,
): AsyncGenerator<Part> {
  let cursor = options.cursor;
  for (let left = most; left > 0;) {
    const paging = view.whole ? { cursor } : { limit: Math.min(left, PAGE), cursor };
    const { text, body, now } = await raw.call<Page>(view.path, { query: { ...view.query, ...paging }, signal });
    const rows = [...jsonElements(jsonMember(text, view.rows) ?? '[]')];
    const next = body.has_more ? body.next_cursor : undefined;
    yield { rows, now, searchedTo: body.searched_to, next };
    if (next === undefined) return;
    [left, cursor] = [left - rows.length, next];
  }
}
