import {
  BUCKETS,
  EVERY_BUCKET,
  evenRanges,
  isSameRange,
  problemOf,
  rangeText,
  type BucketRange,
  type CellRange,
} from './cells.js';

/**
 * Databases say themselves what they hold. Those that no list describes make up a service by that: if nobody has used
 * any of them yet, they get equal ranges, in their order. Those of a list must hold what the list says, or nothing yet.
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

/** Of a list, with what it holds by its own account; null: it does not answer. */
export interface ListedCell extends CellRange {
  readonly held: Held | null;
}

export interface ListProblem {
  readonly text: string;
  /** It may be gone in a moment, by itself. */
  readonly mayPass: boolean;
}

/**
 * Why these databases are not the service that their list describes; null: they are, or may become it. One that holds
 * every tenant may become any cell, if it turns out to have no others.
 */
export function listProblem(cells: readonly ListedCell[]): ListProblem | null {
  const names = (is: (held: Held | null) => boolean): string =>
    cells.flatMap(({ name, held }) => (is(held) ? [name] : [])).join(', ');
  for (const { name, range, held } of cells)
    if (isPlaced(held) && !isSameRange(held.range, range))
      return { text: `cell ${name}: ${otherRange(held.range, range)}`, mayPass: false };
  const fresh = names((held) => held !== null && held.range === null);
  // A first start elsewhere gives them their ranges one after the other, before anybody has tenants.
  if (fresh !== '' && cells.some(({ held }) => isPlaced(held)))
    return { text: `cell ${fresh}: ${EMPTY_BESIDE_OTHERS}`, mayPass: cells.every(({ held }) => !held?.isUsed) };
  const silent = names((held) => held === null);
  const isFirst = cells.length > 1 && cells.some(({ held }) => held !== null && !isPlaced(held));
  if (!isFirst || silent === '') return null;
  return { text: `cell ${silent}: no answer, and a first start needs all of them`, mayPass: true };
}

/** It has a part of the tenants, and nothing else will ever do. */
const isPlaced = (held: Held | null): held is Held & { readonly range: BucketRange } =>
  held?.range ? !isSameRange(held.range, EVERY_BUCKET) : false;

export const EMPTY_BESIDE_OTHERS = 'the database is empty, while others are in use: is it the right one?';

export const otherRange = (holds: BucketRange, listed: BucketRange): string =>
  `the database holds the buckets ${rangeText(holds)}, and is listed with ${rangeText(listed)}`;

function gapsOf(cells: readonly CellRange[]): BucketRange[] {
  const gaps: BucketRange[] = [];
  let next = 0;
  for (const { range } of [...cells].sort((a, b) => a.range.first - b.range.first)) {
    if (range.first > next) gaps.push({ first: next, last: range.first - 1 });
    next = Math.max(next, range.last + 1);
  }
  return next < BUCKETS ? [...gaps, { first: next, last: BUCKETS - 1 }] : gaps;
}
