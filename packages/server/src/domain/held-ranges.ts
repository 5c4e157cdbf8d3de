import { BUCKETS, evenRanges, isSameRange, problemOf, type BucketRange, type CellRange } from './cells.js';

/**
 * Databases that no list describes make up a service by what they hold themselves. If nobody has used any of them yet,
 * they get equal ranges, in their order.
 *
 * A new one beside others that are in use gets nothing: it is more likely the wrong database than a part of them.
 */
export interface Held {
  /** Null: it is new, and may become any part of a service. */
  readonly range: BucketRange | null;
  /** It has tenants. */
  readonly isUsed: boolean;
}

/** They have no names but their places. */
export const nameOfPlace = (index: number): string => `cell${index + 1}`;

/**
 * Null in the place of a database that does not answer: if it is the only one, it must hold what the others leave.
 * A text says why they are not one service.
 */
export function rangesHeld(held: readonly (Held | null)[]): readonly BucketRange[] | string {
  const equal = evenRanges(held.length);
  if (held.every((each, n) => each !== null && isStillEqual(each, equal[n]!))) return equal;
  const places = (is: (each: Held | null) => boolean): number[] => held.flatMap((each, n) => (is(each) ? [n] : []));
  const [silent, fresh] = [places((each) => each === null), places((each) => each?.range === null)];
  const names = (found: readonly number[]): string => found.map(nameOfPlace).join(', ');
  if (silent.length > 1 || (silent.length === 1 && fresh.length > 0))
    return `${names(silent)}: no answer, and nobody else knows which tenants are there`;
  if (fresh.length > 0) return `${names(fresh)}: it is empty, while others are in use; is it the right database?`;
  const cells = held.flatMap((each, n) => (each?.range ? [{ name: nameOfPlace(n), range: each.range }] : []));
  const [missing] = silent;
  if (missing !== undefined) {
    const [gap, ...more] = gapsOf(cells);
    if (gap === undefined) return `${nameOfPlace(missing)}: no answer, and the others hold every tenant`;
    if (more.length === 0) cells.splice(missing, 0, { name: nameOfPlace(missing), range: gap });
  }
  return problemOf(cells) ?? cells.map(({ range }) => range);
}

/** Also after a first start that was interrupted, when some of them have their range already. */
const isStillEqual = ({ range, isUsed }: Held, equal: BucketRange): boolean =>
  range === null || (isSameRange(range, equal) && !isUsed);

function gapsOf(cells: readonly CellRange[]): BucketRange[] {
  const gaps: BucketRange[] = [];
  let next = 0;
  for (const { range } of [...cells].sort((a, b) => a.range.first - b.range.first)) {
    if (range.first > next) gaps.push({ first: next, last: range.first - 1 });
    next = Math.max(next, range.last + 1);
  }
  return next < BUCKETS ? [...gaps, { first: next, last: BUCKETS - 1 }] : gaps;
}
