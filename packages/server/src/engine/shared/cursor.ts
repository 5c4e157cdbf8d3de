import { invalidRequest } from '../../domain/errors.js';
import { isUuid } from '../../domain/ids.js';

/**
 * A cursor says where a page ended. It is opaque to callers and checked when it comes back. Lists in order of id need
 * only the id, the firings of a schedule their number; dead letters are ordered by created_at, to the microsecond, and
 * then by id.
 */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$/;

/** For lists in order of id. */
export const ID_CURSOR = {
  encodeCursor: ({ id }: { readonly id: string }): string => encode([id]),
  decodeCursor: (cursor: string): string => {
    const [id, ...rest] = decode(cursor);
    if (typeof id !== 'string' || !isUuid(id) || rest.length > 0) throw badCursor();
    return id;
  },
};

export const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);

export const encodeNumberCursor = (number: number): string => encode([number]);

export function decodeNumberCursor(cursor: string): number {
  const [number, ...rest] = decode(cursor);
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || rest.length > 0) throw badCursor();
  return number;
}

/** For schedules ordered by next firing: the instant, or null for those that have none, and then the id. */
export interface DuePlace {
  readonly at: string | null;
  readonly id: string;
}

export const encodeDueCursor = ({ at, id }: DuePlace): string => encode([at, id]);

export function decodeDueCursor(cursor: string): DuePlace {
  const [at, id, ...rest] = decode(cursor);
  if (at !== null && !isInstantText(at)) throw badCursor();
  if (typeof id !== 'string' || !isUuid(id) || rest.length > 0) throw badCursor();
  return { at, id };
}

export interface DeadLetterPosition {
  readonly createdAt: string;
  readonly id: number;
}

export const encodeDeadLetterCursor = ({ createdAt, id }: DeadLetterPosition): string => encode([createdAt, id]);

export function decodeDeadLetterCursor(cursor: string): DeadLetterPosition {
  const [createdAt, id, ...rest] = decode(cursor);
  if (!isInstantText(createdAt)) throw badCursor();
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || rest.length > 0) throw badCursor();
  return { createdAt, id };
}

const isInstantText = (part: unknown): part is string =>
  typeof part === 'string' && INSTANT.test(part) && !Number.isNaN(Date.parse(part));

function encode(parts: readonly (string | number | null)[]): string {
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

const badCursor = () =>
  invalidRequest('cursor is not one that this service issued', [{ path: 'cursor', message: 'is not a valid cursor' }]);
