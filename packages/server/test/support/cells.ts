import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { evenRanges, rangeText, type BucketRange } from '../../src/domain/cells.js';
import { cloneDatabase, type TestDatabase } from './database.js';

/** The databases of a service on several cells, as one: a statement runs on each, and their rows are put together. */
export interface TestCells extends TestDatabase {
  /** In the order of their ranges. */
  readonly cells: readonly TestDatabase[];
  /** What --cells is given. */
  readonly file: string;
}

const PREFIX = 'cells:';

/** The list that such an address stands for; null: it is the address of one database. */
export const listIn = (url: string): string | null => (url.startsWith(PREFIX) ? url.slice(PREFIX.length) : null);

export async function cloneCells(count: number): Promise<TestCells> {
  const cells = await Promise.all(Array.from({ length: count }, () => cloneDatabase()));
  return asCells(cells, evenRanges(count));
}

/** Databases as the cells of one service, with these ranges. */
export function asCells(cells: readonly TestDatabase[], ranges: readonly BucketRange[]): TestCells {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-cells-'));
  const file = join(dir, 'cells.json');
  writeList(file, cells, ranges);
  return {
    cells,
    file,
    url: PREFIX + file,
    query: async <R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) =>
      (await Promise.all(cells.map((cell) => cell.query<R>(text, values)))).flat(),
    reconnect: async () => {
      await Promise.all(cells.map((cell) => cell.reconnect()));
    },
    drop: async (options) => {
      await Promise.all(cells.map((cell) => cell.drop(options)));
      rmSync(dir, { recursive: true });
    },
  };
}

export function writeList(file: string, cells: readonly TestDatabase[], ranges: readonly BucketRange[]): void {
  const list = cells.map(({ url }, n) => ({ name: `c${n + 1}`, buckets: rangeText(ranges[n]!), database_url: url }));
  writeFileSync(file, JSON.stringify(list));
}

/** On how many databases the servers of this run stand: MILLRACE_TEST_CELLS, or one. */
export const cellsOfRun = (): number => Number(process.env.MILLRACE_TEST_CELLS ?? 1);
