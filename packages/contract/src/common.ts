import { Type, type Static, type TArray, type TObject, type TObjectOptions, type TSchema } from 'typebox';
import { instant, oneOf } from './schema.js';

export const PAGE_LIMITS = { minimum: 1, maximum: 100, default: 50 } as const;

export const ORDERS = ['created_at ASC', 'created_at DESC'] as const;
export type Order = (typeof ORDERS)[number];

/** What becomes of a number in a query that is out of its range. */
export const CLAMPED =
  'A number out of range is clamped to it, with a warning; with `Prefer: handling=strict` it is refused (400).';

/**
 * Query strings are text, so the server reads these fields by its own rules, given in the descriptions. A validator
 * would have to coerce them.
 */
export const listQueryFields = {
  limit: Type.Optional(
    Type.Integer({
      ...PAGE_LIMITS,
      description: `Page size. ${CLAMPED}`,
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      default: 0,
      description: `Number of items to skip. ${CLAMPED} Ignored when \`cursor\` is given.`,
    }),
  ),
  order_by: Type.Optional(oneOf(ORDERS, { default: 'created_at DESC', description: 'Oldest first or newest first.' })),
  include_total: Type.Optional(
    Type.Boolean({ default: false, description: 'Return the number of all matching items as `total`; costs a scan.' }),
  ),
  cursor: Type.Optional(
    Type.String({
      description:
        'A `next_cursor` or `prev_cursor` of another page: the listing continues from there, in that direction.',
    }),
  ),
  created_after: Type.Optional(instant({ description: 'Only items created at or after this instant.' })),
  created_before: Type.Optional(instant({ description: 'Only items created strictly before this instant.' })),
};

export const ListQuery = Type.Object(listQueryFields);
export type ListQuery = Static<typeof ListQuery>;

/**
 * What an answer says about parts of a request that had no effect; and, to operators, which database is missing in it.
 * Sent as the last member, and only if there is something to say; with `Prefer: handling=strict` the request is refused
 * instead, for what it is to blame for.
 */
export const warnings = Type.Optional(
  Type.Array(Type.String(), {
    description:
      'Parts of the request that had no effect: unknown fields and parameters, a queue where none is read, numbers ' +
      'in the query that are out of range. Absent if there are none. With `Prefer: handling=strict` the request is ' +
      'refused instead (400). Reads of operators also name the databases of the service that did not answer, whose ' +
      'tenants are left out.',
    examples: [['unknown field "queue"; did you mean config.queue?']],
  }),
);

/** The header that turns warnings into refusals, RFC 7240. Other preferences are ignored. */
export const preferHeader = {
  Prefer: Type.Optional(
    Type.String({
      description:
        '`handling=strict` refuses unknown fields and parameters, and numbers in the query that are out of range ' +
        '(400), instead of warning about them.',
      examples: ['handling=strict'],
    }),
  ),
};

/** The header of a read that can be repeated cheaply, RFC 9110. */
export const ConditionalHeaders = Type.Object({
  'If-None-Match': Type.Optional(
    Type.String({
      description: 'The `ETag` of an earlier answer: if nothing has changed since, the answer is a 304 without a body.',
    }),
  ),
});

/** What a page says that was searched for along a list. */
export const searchedTo = Type.Optional(
  instant({
    description:
      'The page ended before it was full, because the walk reached its bound: everything up to what was created at ' +
      'this instant has been searched. Continue with `next_cursor` or, going backwards, with `prev_cursor`.',
  }),
);

export const VIEWS = ['full', 'summary'] as const;
export type View = (typeof VIEWS)[number];

/** A number that is exact up to a bound; beyond it an estimate or, of what an operation matches, a lower bound. */
export const Count = Type.Object(
  {
    n: Type.Integer({ minimum: 0, description: 'How many.' }),
    exact: Type.Boolean({
      description:
        'Whether all were counted. If not, `n` is an estimate; for the matches of an operation, a lower bound.',
    }),
  },
  { $id: 'Count', examples: [{ n: 4211, exact: true }] },
);
export type Count = Static<typeof Count>;

/** The fields that every page has besides its items. */
export const pageFields = {
  limit: Type.Integer({ description: 'The page size that was applied.' }),
  offset: Type.Integer({ description: 'The offset that was applied; 0 when a cursor was given.' }),
  has_more: Type.Boolean({
    description: 'Whether another page follows. After a `prev_cursor` one always does: the page it came from.',
  }),
  next_cursor: Type.Optional(
    Type.String({ description: 'Pass it as `cursor` to get the next page. Opaque; absent on the last page.' }),
  ),
  prev_cursor: Type.Optional(
    Type.String({
      description:
        'Pass it as `cursor` to get the page before this one, in the same order. Opaque; absent on an empty page, ' +
        'unless a search has to continue.',
    }),
  ),
  total: Type.Optional(Type.Integer({ description: 'Exact number of matching items; only with `include_total`.' })),
  warnings,
};

/** A page that holds its items under `key`. */
export function page<K extends string, T extends TSchema>(
  key: K,
  item: T,
  options: TObjectOptions,
): TObject<Record<K, TArray<T>> & typeof pageFields> {
  const items = { [key]: Type.Array(item) } as Record<K, TArray<T>>;
  return Type.Object({ ...items, ...pageFields }, options);
}

export const IdParams = Type.Object({ id: Type.String({ description: 'Identifier assigned by the service.' }) });
