import type { CreatedRange } from '../../domain/filters.js';
import type { Parameters } from './parameters.js';

/** The part that all lists in order of id share: the time range, and where the last page ended. */
export interface Cursor {
  readonly id: string;
  readonly ascending: boolean;
}

/** What is said of an id. */
export function boundsOf(
  { createdAfter, createdBefore }: CreatedRange,
  cursor: Cursor | null,
  parameters: Parameters,
): string[] {
  const bounds: string[] = [];
  if (createdAfter !== null) bounds.push(`>= millrace.first_id(${parameters.add(createdAfter)}::timestamptz)`);
  if (createdBefore !== null) bounds.push(`< millrace.first_id(${parameters.add(createdBefore)}::timestamptz)`);
  if (cursor) bounds.push(`${cursor.ascending ? '>' : '<'} ${parameters.add(cursor.id)}::uuid`);
  return bounds;
}
