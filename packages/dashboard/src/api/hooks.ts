/**
 * How components read the API: `useRead` and `useReads` poll a path and keep the answer, `refresh` reads again whatever
 * is on the screen after a change. Changing things is `change` in client.ts; event streams are in stream.ts.
 */
import {
  keepPreviousData,
  QueryClient,
  useQueries,
  useQuery,
  type UseQueryOptions,
  type UseQueryResult,
} from '@tanstack/react-query';
import { beginOfSpan } from '../lib/clock.js';
import { get, withQuery, type Answer, type ApiError, type Query } from './client.js';

/** How often a visible page looks again. Hidden pages do not look at all. */
export const POLL_MS = 2000;
/** A page that shows what was read so recently does not read it again at once. */
const FRESH_MS = 1000;
/** How long to wait after an error that names no time of its own. */
const AFTER_ERROR_MS = 5000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Polling is the retry, with the error in view; staying on old data is what `placeholderData` is for.
      retry: false,
      refetchOnWindowFocus: 'always',
      refetchIntervalInBackground: false,
      gcTime: 60_000,
      // A 304 yields the same object. Comparing large answers member by member would cost more than it saves.
      structuralSharing: false,
      networkMode: 'always',
    },
  },
});

/**
 * A span until now. Requests name the instant at which it begins; what is kept goes by its length, or a page that is
 * left open would begin another entry at every step and draw it dimmed until it is there.
 */
export interface Since {
  /** Of the request: the instant is its value. */
  readonly parameter: string;
  readonly spanMs: number;
  /** Instead of the span until now, the one of the same length before it: the parameter of its end. */
  readonly beforeAs?: string;
}

/** Of the shares of tenants: begun before the code of their page is there. */
export const SHARES_SPAN: Since = { parameter: 'from', spanMs: 6 * 3_600_000 };

export interface ReadOptions<T> {
  readonly query?: Query | undefined;
  readonly since?: Since | undefined;
  /** Null: read once, and again only after an error or when asked to. */
  readonly pollMs?: number | null;
  /** Once this holds of what was read, it is not polled any more: it has ended. */
  readonly until?: (data: T) => boolean;
  readonly enabled?: boolean;
  /** While the page is hidden too; for what a hidden page still shows, and no more often than every minute. */
  readonly inBackground?: boolean;
  /** Keeps what was there while another page or filter loads, dimmed by whoever shows it. On unless switched off. */
  readonly keepPrevious?: boolean;
}

/** What was read. React draws a component again only if a member that it has looked at changes. */
export interface Read<T> {
  /** Undefined until there is an answer. */
  readonly data: T | undefined;
  /** The same as it came, for whatever must be shown to the byte. */
  readonly text: string | undefined;
  /** Both: the same object as long as nothing has changed. */
  readonly answer: Answer<T> | undefined;
  readonly error: ApiError | null;
  /** The data is that of another page or filter, kept while this one loads. */
  readonly isPlaceholder: boolean;
  /** It has been read since the component is there, and not only before. */
  readonly isFetchedAfterMount: boolean;
  /** When, by the clock of the browser. */
  readonly readAt: number;
}

const readOf = <T>(result: UseQueryResult<Answer<T>, ApiError>): Read<T> => ({
  get data() {
    return result.data?.data;
  },
  get text() {
    return result.data?.text;
  },
  get answer() {
    return result.data;
  },
  get error() {
    return result.error;
  },
  get isPlaceholder() {
    return result.isPlaceholderData;
  },
  get isFetchedAfterMount() {
    return result.isFetchedAfterMount;
  },
  get readAt() {
    return result.dataUpdatedAt;
  },
});

/**
 * Reads a path of the API and keeps it fresh. A 503 is heeded with its Retry-After; a route that is missing is not
 * asked again.
 */
export const useRead = <T>(path: string, options: ReadOptions<T> = {}): Read<T> =>
  readOf(useQuery(reading<T>(path, options)));

/** Reads several at once, in order; those that are the same must be left out by the caller. */
export const useReads = <T>(reads: readonly (readonly [path: string, options: ReadOptions<T>])[]): readonly Read<T>[] =>
  useQueries({ queries: reads.map(([path, options]) => reading<T>(path, options)) }).map(readOf);

/** What is not looked at again must begin with the present: a stream, say, tells what changes from then on. */
const freshMs = (pollMs: number | null): number => (pollMs === null ? 0 : FRESH_MS);

function reading<T>(path: string, options: ReadOptions<T>): UseQueryOptions<Answer<T>, ApiError> {
  const { query, since, pollMs = POLL_MS, until, enabled = true, inBackground = false, keepPrevious = true } = options;
  const pollMsAfter = (answer: Answer<T> | undefined): number | null =>
    answer !== undefined && until?.(answer.data) === true ? null : pollMs;
  const address = withQuery(path, query);
  const key =
    since === undefined ? address : `${address} ${since.parameter} ${since.spanMs} ${since.beforeAs ?? ''}`.trimEnd();
  const addressNow = (): string =>
    since === undefined ? address : withQuery(path, { ...query, ...instantsOf(since) });
  return {
    queryKey: ['read', key],
    queryFn: ({ signal }) => get<T>(addressNow(), signal, key),
    enabled,
    refetchIntervalInBackground: inBackground,
    staleTime: ({ state: { data } }) => freshMs(pollMsAfter(data)),
    refetchInterval: ({ state: { data, error } }) => {
      if (isFinal(error)) return false;
      const nextMs = pollMsAfter(data);
      // What is read once is read again until it has been: whoever follows a stream would show the error for ever.
      return error === null ? (nextMs ?? false) : Math.max(nextMs ?? 0, error.retryAfterMs ?? AFTER_ERROR_MS);
    },
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  };
}

const instantsOf = ({ parameter, spanMs, beforeAs }: Since): Query =>
  beforeAs === undefined
    ? { [parameter]: beginOfSpan(spanMs) }
    : { [parameter]: beginOfSpan(2 * spanMs), [beforeAs]: beginOfSpan(spanMs) };

/** Begins to read what a page will ask for, while its code is still being fetched. */
export function beginRead(path: string, query?: Query, since?: Since): void {
  const { queryKey, queryFn } = reading(path, { query, since });
  if (queryFn !== undefined) void queryClient.prefetchQuery({ queryKey, queryFn, staleTime: freshMs(POLL_MS) });
}

/** Takes an answer for that of another question: where both are known to be the same, nobody waits for the second. */
export function answerWith<T>(path: string, query: Query, answer: Answer<T>): void {
  queryClient.setQueryData(['read', withQuery(path, query)], answer);
}

/** Asking again would change nothing: the thing or the route does not exist, or the caller may not. */
const isFinal = (error: ApiError | null): boolean => error !== null && [400, 401, 403, 404, 405].includes(error.status);

/** A server that is older than the dashboard does not know the route. */
export const isMissing = (error: ApiError | null): boolean => error?.status === 404 || error?.status === 405;

/** After a change: everything that is on the screen looks again. */
export const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['read'] });

/** After a deletion: the same, except for what belonged to `id`, which stays on the screen until the lists are back. */
export const refreshWithout = (id: string): Promise<void> =>
  queryClient.invalidateQueries({ predicate: ({ queryKey }) => !queryKey.some((part) => String(part).includes(id)) });
