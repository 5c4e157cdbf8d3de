import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { CellMap, evenRanges, parseRange, rangeText, type BucketRange } from '../../src/domain/cells.js';
import { isUuid } from '../../src/domain/ids.js';
import { oneDatabase, type TestDatabase } from './one-database.js';

/** The databases of a service on several cells, as one. */
export interface TestCells extends TestDatabase {
  /** In the order of their ranges. */
  readonly cells: readonly TestDatabase[];
  /** What --cells is given. */
  readonly file: string;
}

const PREFIX = 'cells:';

/** The list that such an address stands for; null: it is the address of one database. */
export const listIn = (url: string): string | null => (url.startsWith(PREFIX) ? url.slice(PREFIX.length) : null);

/** So many databases with ranges of the same size, or databases with these ranges. */
export async function cloneCells(wanted: number | readonly BucketRange[]): Promise<TestCells> {
  const ranges = typeof wanted === 'number' ? evenRanges(wanted) : wanted;
  return asCells(await Promise.all(ranges.map(() => oneDatabase())), ranges);
}

/** Databases as the cells of one service, with these ranges. */
export function asCells(cells: readonly TestDatabase[], ranges: readonly BucketRange[]): TestCells {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-cells-'));
  const file = join(dir, 'cells.json');
  writeList(file, cells, ranges);
  const map = new CellMap(ranges.map((range, n) => ({ name: String(n), range })));
  const homeOf = (id: string): TestDatabase => cells[isUuid(id) ? map.ofId(id) : map.ofTenant(id)]!;
  return {
    cells,
    file,
    url: PREFIX + file,
    parts: cells,
    homeOf,
    query: async <R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) => {
      const tenant = TENANT.exec(text)?.[1] ?? values?.find((value) => TENANTS.has(value));
      if (tenant !== undefined) return homeOf(tenant as string).query<R>(text, values);
      return together(await Promise.all(cells.map((cell) => cell.query<R>(text, values))));
    },
    reconnect: async () => {
      await Promise.all(cells.map((cell) => cell.reconnect()));
    },
    drop: async (options) => {
      await Promise.all(cells.map((cell) => cell.drop(options)));
      rmSync(dir, { recursive: true });
    },
  };
}

/** Tenants of the tests. A statement that names one of them is for the database that holds it. */
const NAMES = ['tenant-a', 'tenant-b', 'tenant1'];
const TENANTS = new Set<unknown>(NAMES);
const TENANT = new RegExp(`'(${NAMES.join('|')})'`);

/** Where each of them has one row, as of a count, it is one row; otherwise it is the rows of all. */
function together<R extends pg.QueryResultRow>(answers: readonly (R[] | undefined)[]): R[] {
  // Several statements in one text have no rows of their own.
  const parts = answers.map((rows) => rows ?? []);
  const rows = parts.flat();
  if (parts.length === 0 || parts.some((part) => part.length !== 1)) return rows;
  const sum: Record<string, unknown> = {};
  for (const field of Object.keys(rows[0]!)) {
    const values = rows.map((row): unknown => row[field]).filter((value) => value !== null);
    const numbers = values.filter((value) => typeof value === 'number');
    const others = new Set(values.map((value) => (value instanceof Date ? value.getTime() : value)));
    if (numbers.length > 0 && numbers.length === values.length) sum[field] = numbers.reduce((a, b) => a + b, 0);
    else if (values.length > 0 && values.every(isCount)) sum[field] = String(values.reduce((a, b) => a + Number(b), 0));
    else if (values.length > 0 && values.every((value) => typeof value === 'boolean'))
      sum[field] = values.some(Boolean);
    else if (others.size <= 1) sum[field] = values[0] ?? null;
    else return rows;
  }
  return [sum as R];
}

/** As `count(*)` comes. */
const isCount = (value: unknown): value is string => typeof value === 'string' && /^\d+$/.test(value);

export function writeList(file: string, cells: readonly TestDatabase[], ranges: readonly BucketRange[]): void {
  const list = cells.map(({ url }, n) => ({ name: `c${n + 1}`, buckets: rangeText(ranges[n]!), database_url: url }));
  writeFileSync(file, JSON.stringify(list));
}

/**
 * The ranges of the databases on which the servers of this run stand; null: each stands on one. MILLRACE_TEST_CELLS
 * lists them. They are uneven, so that the tenants of the tests are apart (scripts/test-cells.mjs).
 */
export function cellsOfRun(): readonly BucketRange[] | null {
  const list = process.env.MILLRACE_TEST_CELLS;
  return list === undefined ? null : list.split(',').map((text) => parseRange(text)!);
}
