import { Type, type Static, type TArray, type TObject, type TObjectOptions, type TSchema } from 'typebox';
import { instant, oneOf } from './schema.js';

export const PAGE_LIMITS = { minimum: 1, maximum: 100, default: 50 } as const;

export const ORDERS = ['created_at ASC', 'created_at DESC'] as const;
export type Order = (typeof ORDERS)[number];

/**
 * Query strings are text, so the server reads these by rules of its own (see the descriptions) and never
 * through a validator that would have to coerce.
 */
export const listQueryFields = {
  limit: Type.Optional(
    Type.Integer({
      ...PAGE_LIMITS,
      description: 'Page size. Numbers outside the range are clamped into it.',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      default: 0,
      description: 'Rows to skip; a negative number counts as 0. Ignored when `cursor` is set.',
    }),
  ),
  order_by: Type.Optional(oneOf(ORDERS, { default: 'created_at DESC', description: 'Oldest or newest first.' })),
  include_total: Type.Optional(
    Type.Boolean({ default: false, description: 'Count every matching row into `total`, at the price of a scan.' }),
  ),
  cursor: Type.Optional(
    Type.String({ description: 'The `next_cursor` of the page before; listing goes on where that page ended.' }),
  ),
  created_after: Type.Optional(instant({ description: 'Only rows created at or after this instant.' })),
  created_before: Type.Optional(instant({ description: 'Only rows created strictly before this instant.' })),
};

export const ListQuery = Type.Object(listQueryFields);
export type ListQuery = Static<typeof ListQuery>;

/** The fields every page carries beside its items. */
export const pageFields = {
  limit: Type.Integer({ description: 'The page size that was applied.' }),
  offset: Type.Integer({ description: 'The offset that was applied; 0 when a cursor was given.' }),
  has_more: Type.Boolean({ description: 'Whether another page follows.' }),
  next_cursor: Type.Optional(Type.String({ description: 'Opaque; present when another page follows.' })),
  total: Type.Optional(Type.Integer({ description: 'Exact count of all matching rows; present when asked for.' })),
};

/** A page whose items stand under `key`. */
export function page<K extends string, T extends TSchema>(
  key: K,
  item: T,
  options: TObjectOptions,
): TObject<Record<K, TArray<T>> & typeof pageFields> {
  const items = { [key]: Type.Array(item) } as Record<K, TArray<T>>;
  return Type.Object({ ...items, ...pageFields }, options);
}

export const IdParams = Type.Object({ id: Type.String({ description: 'Identifier given by the service.' }) });
