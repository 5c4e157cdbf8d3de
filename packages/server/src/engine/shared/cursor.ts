import { BAD_CURSOR } from '@millrace/sdk/rules';
import { invalidRequest } from '../../domain/errors.js';
import { isUuid } from '../../domain/ids.js';
import { isStorableText } from '../../domain/text.js';

/**
 * A cursor says where a page begins, and in which direction it goes. It is opaque to callers and checked when it comes
 * back. It is the place of a row, by what orders its list, and behind it a mark where one is needed:
 *
 *   place            what follows this row
 *   place '<'        what comes before this row
 *   place '+' n      what follows this row but for the first n that match: a search stopped before its offset was over
 *   '^'              the list from its start: what follows an empty page before the first row
 */
export interface CursorPlace<At> {
  /** Null: the start of the list. */
  readonly at: At | null;
  readonly backward: boolean;
  readonly skip: number;
}

/** What orders a list, as the parts of a cursor. */
export interface CursorCodec<At> {
  partsOf(at: At): readonly CursorPart[];
  /** Null: not such a place. */
  atOf(parts: readonly unknown[]): At | null;
}

type CursorPart = string | number | null;

const BACKWARD = '<';
const SKIP = '+';
const START = '^';

export const START_CURSOR = encode([START]);

export const cursorAfter = <At>(codec: CursorCodec<At>, at: At, skip = 0): string =>
  encode(skip === 0 ? codec.partsOf(at) : [...codec.partsOf(at), SKIP, skip]);

export const cursorBefore = <At>(codec: CursorCodec<At>, at: At): string => encode([...codec.partsOf(at), BACKWARD]);

export function readCursor<At>(codec: CursorCodec<At>, cursor: string): CursorPlace<At> {
  const parts = decode(cursor);
  if (parts.length === 1 && parts[0] === START) return { at: null, backward: false, skip: 0 };
  const backward = parts.at(-1) === BACKWARD;
  const skip = parts.at(-2) === SKIP ? parts.at(-1) : 0;
  if (!isWhole(skip) || skip < 0) throw badCursor();
  const at = codec.atOf(parts.slice(0, parts.length - (backward ? 1 : skip > 0 ? 2 : 0)));
  if (at === null) throw badCursor();
  return { at, backward, skip };
}

/** For lists in order of id. */
export const ID_CURSOR: CursorCodec<string> = {
  partsOf: (id) => [id],
  atOf: ([id, ...rest]) => (isId(id) && rest.length === 0 ? id : null),
};

export const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);

/** For tenants, in order of their names. */
export const NAME_CURSOR: CursorCodec<string> = {
  partsOf: (name) => [name],
  atOf: ([name, ...rest]) => (typeof name === 'string' && isStorableText(name) && rest.length === 0 ? name : null),
};

/** For what is ordered by several names. */
export const namesCursor = (count: number): CursorCodec<readonly string[]> => ({
  partsOf: (names) => names,
  atOf: (parts) => (parts.length === count && parts.every(isName) ? parts : null),
});

const isName = (part: unknown): part is string => typeof part === 'string' && isStorableText(part);

/** For the firings of a schedule. */
export const NUMBER_CURSOR: CursorCodec<number> = {
  partsOf: (number) => [number],
  atOf: ([number, ...rest]) => (isWhole(number) && rest.length === 0 ? number : null),
};

/** For schedules ordered by next firing: the instant, or null for those that have none, and then the id. */
export interface DuePlace {
  readonly at: string | null;
  readonly id: string;
}

export const DUE_CURSOR: CursorCodec<DuePlace> = {
  partsOf: ({ at, id }) => [at, id],
  atOf: ([at, id, ...rest]) => ((at === null || isInstant(at)) && isId(id) && rest.length === 0 ? { at, id } : null),
};

/** For waits, which are ordered by their beginning and then by job. */
export interface WaitPlace {
  readonly since: string;
  readonly id: string;
}

export const WAIT_CURSOR: CursorCodec<WaitPlace> = {
  partsOf: ({ since, id }) => [since, id],
  atOf: ([since, id, ...rest]) => (isInstant(since) && isId(id) && rest.length === 0 ? { since, id } : null),
};

/** For what operators did, in the order in which they did it. */
export interface AuditPlace {
  readonly at: string;
  readonly id: string;
}

export const AUDIT_CURSOR: CursorCodec<AuditPlace> = {
  partsOf: ({ at, id }) => [at, id],
  atOf: ([at, id, ...rest]) => (isInstant(at) && isId(id) && rest.length === 0 ? { at, id } : null),
};

/** For dead letters, which are ordered by created_at, to the microsecond, and then by id. */
export interface DeadLetterPlace {
  readonly createdAt: string;
  readonly id: number;
}

export const DEAD_LETTER_CURSOR: CursorCodec<DeadLetterPlace> = {
  partsOf: ({ createdAt, id }) => [createdAt, id],
  atOf: ([createdAt, id, ...rest]) =>
    isInstant(createdAt) && isWhole(id) && rest.length === 0 ? { createdAt, id } : null,
};

/** For jobs in the order in which they ended (engine/jobs/ends.ts). */
export interface EndsPlace {
  readonly course: string;
  /** The snapshot that saw what has been told, and when it was taken. */
  readonly since: string;
  readonly at: string;
  /** Up to where what follows is being told, and how much of that has been; null: the next question begins a page. */
  readonly page: { readonly upto: string; readonly uptoAt: string; readonly xid: string; readonly seq: string } | null;
}

export const ENDS_CURSOR: CursorCodec<EndsPlace> = {
  partsOf: ({ course, since, at, page }) => [
    ...[course, since, at],
    ...(page === null ? [] : [page.upto, page.uptoAt, page.xid, page.seq]),
  ],
  atOf: ([course, since, at, ...rest]) => {
    if (!isId(course) || !isSnapshot(since) || !isInstant(at)) return null;
    if (rest.length === 0) return { course, since, at, page: null };
    const [upto, uptoAt, xid, seq, ...others] = rest;
    const isPage = isSnapshot(upto) && isInstant(uptoAt) && isNumeral(xid) && isNumeral(seq) && others.length === 0;
    return isPage ? { course, since, at, page: { upto, uptoAt, xid, seq } } : null;
  },
};

/** What a snapshot surely does not see begins here. */
export const firstSeen = (snapshot: string): string => snapshot.slice(0, snapshot.indexOf(':'));

/** As PostgreSQL writes a pg_snapshot: where it begins and ends, and what was under way between them, in order. */
function isSnapshot(part: unknown): part is string {
  if (typeof part !== 'string' || !/^\d{1,18}:\d{1,18}:(\d{1,18}(,\d{1,18})*)?$/.test(part)) return false;
  const [first, end, others = ''] = part.split(':');
  const [xmin, xmax] = [BigInt(first!), BigInt(end!)];
  const underWay = others === '' ? [] : others.split(',').map(BigInt);
  const isInside = (xid: bigint, n: number): boolean =>
    xid >= xmin && xid < xmax && !(n > 0 && xid <= underWay[n - 1]!);
  return xmin > 0n && xmax >= xmin && underWay.every(isInside);
}

const isNumeral = (part: unknown): part is string => typeof part === 'string' && /^\d{1,18}$/.test(part);

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$/;

const isId = (part: unknown): part is string => typeof part === 'string' && isUuid(part);

const isWhole = (part: unknown): part is number => Number.isSafeInteger(part);

const isInstant = (part: unknown): part is string =>
  typeof part === 'string' && INSTANT.test(part) && !Number.isNaN(Date.parse(part));

function encode(parts: readonly CursorPart[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

function decode(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(parts)) return parts;
  } catch {
    // Falls through: whatever is wrong with it, we did not issue it.
  }
  throw badCursor();
}

const badCursor = () => invalidRequest(BAD_CURSOR.error, [BAD_CURSOR.detail]);
