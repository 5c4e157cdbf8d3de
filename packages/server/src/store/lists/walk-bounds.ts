import type { CreatedRange } from '../../domain/filters.js';

/** The part that all lists in order of id share: the time range, and where the last page ended. */
export interface Cursor {
  readonly id: string;
  readonly ascending: boolean;
}

/** What is said of an id. The values are added to those of the statement. */
export function boundsOf(
  { createdAfter, createdBefore }: CreatedRange,
  cursor: Cursor | null,
  values: unknown[],
): string[] {
  const bounds: string[] = [];
  if (createdAfter !== null) bounds.push(`>= millrace.first_id($${values.push(createdAfter)}::timestamptz)`);
  if (createdBefore !== null) bounds.push(`< millrace.first_id($${values.push(createdBefore)}::timestamptz)`);
  if (cursor) bounds.push(`${cursor.ascending ? '>' : '<'} $${values.push(cursor.id)}::uuid`);
  return bounds;
}
