import type { DeadLetterFilter } from '../../domain/filters.js';
import type { KeptCheckpoints } from '../../domain/kept-checkpoints.js';
import type { DeadLetterGroupRecord, DeadLetterRecord, Instant } from '../../domain/records.js';
import type { Created } from './creates.js';
import type { ListQuery, Page, PageEnds } from './lists.js';

export type DeadLetterListQuery = ListQuery & DeadLetterFilter;

export interface DeadLetterGroupsQuery {
  readonly since: Instant | null;
  readonly queue: string | null;
  readonly task: string | null;
  /** Null: whether they were replayed or not. */
  readonly replayed: boolean | null;
  readonly limit: number;
  readonly cursor: string | null;
}

export interface DeadLetterGroupPage extends Pick<PageEnds, 'nextCursor' | 'searchedTo'> {
  readonly groups: readonly DeadLetterGroupRecord[];
}

export interface DeadLettersApi {
  get(tenant: string, id: string): Promise<DeadLetterRecord>;
  list(tenant: string, query: DeadLetterListQuery): Promise<Page<DeadLetterRecord>>;
  /** The group with the newest entry first. */
  groups(tenant: string, query: DeadLetterGroupsQuery): Promise<DeadLetterGroupPage>;
  replay(tenant: string, id: string, idempotencyKey: string | null, kept: KeptCheckpoints | null): Promise<Created>;
}
