import { readFileSync } from 'node:fs';
import { parseRange, problemOf, rangeText, type BucketRange } from '../domain/cells.js';
import { UsageError } from './read-options.js';
import { MAX_CELLS, postgresUrl } from './values.js';

/**
 * The list of `--cells FILE`: which databases make up the service, and which tenants each of them holds. JSON, because
 * people write it once and programs write it from then on:
 *
 *   [{ "name": "a", "buckets": "0-32767", "database_url": "postgres://..." }, ...]
 */
export interface CellAddress {
  /** Empty if it is the only one. */
  readonly name: string;
  readonly range: BucketRange;
  readonly url: string;
  readonly pooler: 'none' | 'transaction';
  /** Around the pooler. */
  readonly directUrl: string | null;
}

const NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/i;
const FIELDS = new Set(['name', 'buckets', 'database_url', 'direct_database_url', 'pooler']);

/** @throws UsageError that names the entry, and never repeats an address */
export function readCellList(file: string): readonly CellAddress[] {
  const refuse = (why: string): UsageError => new UsageError(`the list of --cells ${why}`);
  let list: unknown;
  try {
    list = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw refuse(error instanceof SyntaxError ? 'is not JSON' : `cannot be read: ${(error as Error).message}`);
  }
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_CELLS)
    throw refuse(`must be an array of 1 to ${MAX_CELLS} cells`);
  const cells = list.map((entry: unknown, index) => {
    try {
      return cellOf(entry);
    } catch (error) {
      throw refuse(`is wrong: entry ${index + 1} ${(error as Error).message}`);
    }
  });
  const problem = problemOf(cells);
  if (problem !== null) throw refuse(`is wrong: ${problem}`);
  return cells;
}

/** What `readCellList` reads. It holds passwords. */
export function cellListText(cells: readonly CellAddress[]): string {
  const entries = cells.map(({ name, range, url, pooler, directUrl }) => ({
    name,
    buckets: rangeText(range),
    database_url: url,
    ...(pooler !== 'none' && { pooler }),
    ...(directUrl !== null && { direct_database_url: directUrl }),
  }));
  return `${JSON.stringify(entries, null, 2)}\n`;
}

function cellOf(entry: unknown): CellAddress {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) throw new Error('must be an object');
  const fields = entry as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(fields).find((field) => !FIELDS.has(field));
  if (unknown !== undefined) throw new Error(`has an unknown field: ${unknown.slice(0, 40)}`);
  const { name, buckets, database_url: url, direct_database_url: directUrl = null, pooler = 'none' } = fields;
  if (typeof name !== 'string' || !NAME.test(name))
    throw new Error('needs a name of letters, digits, dots, dashes and underscores');
  const range = typeof buckets === 'string' ? parseRange(buckets) : null;
  if (range === null) throw new Error('needs buckets such as 0-16383, within 0-65535');
  if (pooler !== 'none' && pooler !== 'transaction') throw new Error('has a pooler other than none or transaction');
  if (directUrl !== null && pooler === 'none') throw new Error('has a direct_database_url, but no pooler');
  return {
    name,
    range,
    url: urlOf('database_url', url),
    pooler,
    directUrl: directUrl === null ? null : urlOf('direct_database_url', directUrl),
  };
}

function urlOf(field: string, value: unknown): string {
  try {
    return postgresUrl(typeof value === 'string' ? value : '');
  } catch (error) {
    throw new Error(`${field} ${(error as Error).message}`, { cause: error });
  }
}
