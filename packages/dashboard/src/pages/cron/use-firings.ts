import type { CronFiring, CronFiringPage } from '@millrace/contract';
import { useQuery } from '@tanstack/react-query';
import { get, withQuery, type ApiError } from '../../api/client.js';

export interface Firings {
  /** The newest first. */
  readonly items: readonly CronFiring[];
  /** Whether there are no older ones. */
  readonly isComplete: boolean;
}

const POLL_MS = 30_000;
const PAGE = 100;

/** The newest firings of a schedule, at most `pages` hundred. A strip of a day need not be fresh to the second. */
export function useFirings(id: string, pages: number): { readonly firings?: Firings; readonly error: ApiError | null } {
  const { data, error } = useQuery<Firings, ApiError>({
    // "read" first: a change refreshes it like everything else.
    queryKey: ['read', 'firings', id, pages],
    queryFn: ({ signal }) => fetchFirings(id, pages, signal),
    refetchInterval: POLL_MS,
  });
  return { error, ...(data !== undefined && { firings: data }) };
}

async function fetchFirings(id: string, pages: number, signal: AbortSignal): Promise<Firings> {
  const items: CronFiring[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages; page++) {
    const path = withQuery(`/cron/${id}/firings`, { limit: PAGE, cursor });
    const { data } = await get<CronFiringPage>(path, signal);
    items.push(...data.firings);
    cursor = data.next_cursor;
    if (!data.has_more || cursor === undefined) return { items, isComplete: true };
  }
  return { items, isComplete: false };
}
