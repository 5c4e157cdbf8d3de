import { bucketOf, bucketOfId } from './ids.js';

/**
 * Tenants spread over several databases ("cells"). Every tenant has a bucket, every id carries it (ids.ts), and a map
 * of ranges leads from the bucket to the cell. The map is data, never a hash modulo the number of cells: so a range can
 * be divided, and no other tenant moves.
 */
export const BUCKETS = 65_536;

/** Both ends belong to it. */
export interface BucketRange {
  readonly first: number;
  readonly last: number;
}

export const EVERY_BUCKET: BucketRange = { first: 0, last: BUCKETS - 1 };

export interface CellRange {
  readonly name: string;
  readonly range: BucketRange;
}

/** `0-16383`, as it is written in lists and messages. */
export const rangeText = ({ first, last }: BucketRange): string => `${first}-${last}`;

/** Null: it is not a range of buckets. */
export function parseRange(text: string): BucketRange | null {
  const [, from, to] = /^(\d{1,5})-(\d{1,5})$/.exec(text.trim()) ?? [];
  if (from === undefined || to === undefined) return null;
  const range = { first: Number(from), last: Number(to) };
  return range.first <= range.last && range.last < BUCKETS ? range : null;
}

export const isSameRange = (a: BucketRange, b: BucketRange): boolean => a.first === b.first && a.last === b.last;

/** As many ranges as asked for, of the same size give or take one, that leave nothing out. */
export function evenRanges(count: number): BucketRange[] {
  const from = (n: number): number => Math.floor((n * BUCKETS) / count);
  return Array.from({ length: count }, (_, n) => ({ first: from(n), last: from(n + 1) - 1 }));
}

/** Why the cells are not one service; null: every bucket is in exactly one of them, and no name is used twice. */
export function problemOf(cells: readonly CellRange[]): string | null {
  const names = new Set<string>();
  for (const { name } of cells) {
    if (names.has(name)) return `two cells are called ${name}`;
    names.add(name);
  }
  const sorted = [...cells].sort((a, b) => a.range.first - b.range.first);
  let next = 0;
  let before: CellRange | null = null;
  for (const cell of sorted) {
    const { first, last } = cell.range;
    if (before !== null && first < next)
      return `${before.name} (${rangeText(before.range)}) and ${cell.name} (${rangeText(cell.range)}) overlap`;
    if (first > next) return `no cell holds the buckets ${rangeText({ first: next, last: first - 1 })}`;
    next = last + 1;
    before = cell;
  }
  return next === BUCKETS ? null : `no cell holds the buckets ${rangeText({ first: next, last: BUCKETS - 1 })}`;
}

/** Ids of dead letters below this were given out before they carried a bucket. */
const FIRST_NUMBERED = 65_536n;

/** From tenants and ids to the place of their cell in the list. */
export class CellMap {
  readonly #cells = new Uint16Array(BUCKETS);

  /** @throws RangeError if the cells are not one service */
  constructor(cells: readonly CellRange[]) {
    this.replace(cells);
  }

  /** @throws RangeError if the cells are not one service; then nothing changes */
  replace(cells: readonly CellRange[]): void {
    const problem = problemOf(cells);
    if (problem !== null) throw new RangeError(problem);
    cells.forEach(({ range }, index) => this.#cells.fill(index, range.first, range.last + 1));
  }

  ofTenant(tenant: string): number {
    return this.#cells[bucketOf(tenant)]!;
  }

  /** `id` is a UUID that this service may have given out. */
  ofId(id: string): number {
    return this.#cells[bucketOfId(id)]!;
  }

  /** `id` is a number in decimal. */
  ofDeadLetter(tenant: string, id: string): number {
    const number = BigInt(id);
    return number < FIRST_NUMBERED ? this.ofTenant(tenant) : this.#cells[Number(number & 0xffffn)]!;
  }
}
