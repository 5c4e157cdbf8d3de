import { MillraceError } from '../../domain/errors.js';
import { idsWith } from '../../domain/ids.js';
import { textArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { isTaken } from '../../store/failures.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import type { BatchItem } from '../api.js';
import { createLimited, takeKeys, type CreatedLimited } from '../limits/create-limited.js';
import { isLimited } from '../limits/limited-job.js';
import { differs, otherKind } from '../shared/idempotency.js';
import {
  alikeColumns,
  areAlike,
  columns,
  insertOf,
  keyColumns,
  kindsOf,
  limitedColumns,
  suffixesFor,
  type NewJob,
} from './job-columns.js';

/**
 * Batches whose items carry keys of their own: all of it is created or nothing, and what an earlier request created
 * under one of the keys, in whatever grouping, is found instead.
 *
 * Such keys are mostly made up for the item, so the first try is one statement that neither looks for them nor asks
 * which were free. A key that was taken fails it. Then a transaction stores what is new, reads the winners of the
 * others, and is undone if a key belongs to another kind of request. So it goes for items with limits in any case.
 */
const sql = loadStatements('jobs/enqueue.sql');

/** How long keys are looked for after one that had been used: nobody can make us fail again and again. */
const LOOK_MS = 60_000;

interface Item extends NewJob {
  readonly key: string | null;
  readonly digest?: number;
  readonly suffix: string;
  /** Where it stands in the request. */
  readonly index: number;
}

type KeyedItem = Item & { readonly key: string; readonly digest: number };

/** Whose a key that was taken is. */
export interface WinnerRow {
  readonly ordinal: string;
  readonly job_id: string;
  readonly kind: string | null;
  readonly digest: string | null;
}

export interface StoredItems {
  /** In the order of the request. */
  readonly ids: readonly string[];
  /** The positions of items that created nothing: their job was there, or is that of an earlier item. */
  readonly replayed: readonly number[];
  /** One of them asked for something else than what its key was used for. */
  readonly mismatch: boolean;
  /** The same, because there was one of their unique key. */
  readonly existing: readonly number[];
  /** What was created, and the rest of what is to be told. */
  readonly plain: readonly NewJob[];
  readonly limited: readonly CreatedLimited[];
}

interface Stored {
  readonly id: string;
  readonly isNew: boolean;
  /** One of its unique key was there. */
  readonly existing?: boolean;
  readonly mismatch?: boolean;
}

/** By item, and how those with limits were created. */
interface StoredAll {
  readonly stored: Map<Item, Stored>;
  readonly limited: CreatedLimited[];
}

export class KeyedItems {
  #looksUntil = -Infinity;

  constructor(private readonly db: Database) {}

  /** The tenant must be registered. */
  async store(tenant: string, items: readonly BatchItem[]): Promise<StoredItems> {
    const { unique, positions } = onePerKey(tenant, items);
    const fresh = await this.#storeFresh(unique);
    if (fresh !== null) return storedFresh(fresh, unique, positions, items);
    const { stored, limited } = await this.db.transaction((execute) => storeAll(execute, unique));
    const replayed: number[] = [];
    const found: number[] = [];
    let differ = false;
    const ids = positions.map((position, index) => {
      const item = unique[position]!;
      const { id, isNew, existing = false, mismatch = false } = stored.get(item)!;
      differ ||= mismatch || item.digest !== items[index]!.key?.digest;
      if (!isNew || item.index !== index) replayed.push(index);
      else if (existing) found.push(index);
      return id;
    });
    const plain = unique.filter((item) => stored.get(item)!.isNew && !isLimited(item.spec));
    return { ids, replayed, mismatch: differ, existing: found, plain, limited };
  }

  /** The prefix of their ids. Null: some are not keyed, or a key was taken. */
  async #storeFresh(items: readonly Item[]): Promise<string | null> {
    if (!items.every(isKeyed) || performance.now() < this.#looksUntil) return null;
    if (items.some(({ spec }) => isLimited(spec))) return null;
    try {
      const [row] = await this.db.run<{ prefix: string }>(freshInsert(items));
      return row!.prefix;
    } catch (error) {
      if (!isTaken(error)) throw error;
      this.#looksUntil = performance.now() + LOOK_MS;
      return null;
    }
  }
}

/** Items of one key are one job, and the first says which. `positions`: where each item is among the unique ones. */
function onePerKey(tenant: string, items: readonly BatchItem[]): { unique: Item[]; positions: number[] } {
  const places = new Map<string, number>();
  const firsts: number[] = [];
  const positions = items.map(({ key }, index) => {
    const known = key === null ? undefined : places.get(key.key);
    if (known !== undefined) return known;
    const place = firsts.push(index) - 1;
    if (key !== null) places.set(key.key, place);
    return place;
  });
  const suffixes = suffixesFor(firsts.map((index) => ({ tenant, spec: items[index]!.spec })));
  const unique = firsts.map((index, n): Item => {
    const { spec, key } = items[index]!;
    const suffix = suffixes[n]!;
    if (key === null) return { tenant, spec, key, suffix, index };
    return { tenant, spec, key: key.key, digest: key.digest, suffix, index };
  });
  return { unique, positions };
}

/** What there is to say where every key was free, as the keys of an outbox are. */
function storedFresh(
  prefix: string,
  unique: readonly Item[],
  positions: readonly number[],
  items: readonly BatchItem[],
): StoredItems {
  const idOf = idsWith(prefix);
  const replayed: number[] = [];
  let mismatch = false;
  const ids = positions.map((position, index) => {
    const item = unique[position]!;
    if (item.index !== index) {
      replayed.push(index);
      mismatch ||= item.digest !== items[index]!.key?.digest;
    }
    return idOf(item.suffix);
  });
  return { ids, replayed, mismatch, existing: [], plain: unique, limited: [] };
}

const isKeyed = (item: Item): item is KeyedItem => item.key !== null;

async function storeAll(execute: Execute, items: readonly Item[]): Promise<StoredAll> {
  const all: StoredAll = { stored: new Map(), limited: [] };
  const { stored } = all;
  const limited = items.filter(({ spec }) => isLimited(spec));
  const others = items.filter(({ spec }) => !isLimited(spec));
  const plain = others.filter((item) => !isKeyed(item));
  if (plain.length > 0) {
    const suffixes = plain.map(({ suffix }) => suffix);
    const [row] = await execute<{ prefix: string }>(insertOf(suffixes, plain));
    for (const item of plain) stored.set(item, { id: idsWith(row!.prefix)(item.suffix), isNew: true });
  }
  // A key that was taken and is gone again belonged to a job that retention has just removed: it is free now.
  for (let left = others.filter(isKeyed); left.length > 0; left = left.filter((item) => !stored.has(item)))
    await storeKeyed(execute, left, stored);
  for (let left = limited; left.length > 0; left = left.filter((item) => !stored.has(item)))
    await storeLimited(execute, left, all);
  return all;
}

/** Keys are taken first, so that a repeated item takes no room. */
async function storeLimited(execute: Execute, items: readonly Item[], all: StoredAll): Promise<void> {
  const keyed = items.filter(isKeyed);
  const free = keyed.length === 0 ? new Set<string>() : await takeKeys(execute, keyed, 'items');
  const fresh = items.filter(({ key, suffix }) => key === null || free.has(suffix));
  if (fresh.length > 0) noteLimited(fresh, await createLimited(execute, fresh, limitedColumns), all);
  const losers = keyed.filter((item) => !all.stored.has(item));
  if (losers.length > 0) await findWinners(execute, losers, all.stored);
}

function noteLimited(items: readonly Item[], created: CreatedLimited, all: StoredAll): void {
  const { ids, existing } = created;
  items.forEach((item, n) => all.stored.set(item, { id: ids[n]!, isNew: true, existing: existing[n]! }));
  all.limited.push(created);
}

async function storeKeyed(execute: Execute, items: readonly KeyedItem[], stored: Map<Item, Stored>): Promise<void> {
  const [row] = await execute<{ prefix: string; created: string | null }>(sql.create_keyed_items(keyedColumns(items)));
  const { prefix, created } = row!;
  const won = created === null ? null : new Set(created.slice(1, -1).split(','));
  const losers: KeyedItem[] = [];
  for (const item of items) {
    const id = idsWith(prefix)(item.suffix);
    if (won === null || won.has(id)) stored.set(item, { id, isNew: true });
    else losers.push(item);
  }
  if (losers.length > 0) await findWinners(execute, losers, stored);
}

async function findWinners(execute: Execute, losers: readonly KeyedItem[], stored: Map<Item, Stored>): Promise<void> {
  const winners = await execute<WinnerRow>(
    sql.jobs_of_keys({
      tenants: textArray(losers.map(({ tenant }) => tenant)),
      keys: textArray(losers.map(({ key }) => key)),
    }),
  );
  for (const { ordinal, job_id: id, kind, digest } of winners) {
    const item = losers[Number(ordinal) - 1]!;
    if (kind !== null) throw itemOfOtherKind(item);
    stored.set(item, { id, isNew: false, mismatch: differs(digest, item.digest) });
  }
}

function itemOfOtherKind({ index }: Item): MillraceError {
  const { code, message } = otherKind();
  const path = `jobs[${index}].idempotency_key`;
  return new MillraceError(code, `${path}: ${message}`, [{ path, message }]);
}

function freshInsert(items: readonly KeyedItem[]): Statement {
  if (!areAlike(items)) return sql.create_fresh_items(keyedColumns(items));
  const suffixes = items.map(({ suffix }) => suffix);
  return sql.create_fresh_alike_items({ ...keyColumns(items), ...alikeColumns(suffixes, items) });
}

function keyedColumns(items: readonly KeyedItem[]) {
  const suffixes = items.map(({ suffix }) => suffix);
  return { ...keyColumns(items), ...columns(suffixes, items, kindsOf(items)) };
}
