import { isObject } from '../../json/object.js';
import {
  BAD_CURSOR,
  clampedTo,
  keyOfRequest,
  QueryReader,
  type Limits,
  type QueryParameters,
} from '../../rules/index.js';
import { PAGE_LIMITS } from '../../rules/limits.js';
import { invalid, Problem } from './problem.js';
import type { FakeStore } from './store.js';

/** A request as the routes see it. */
export interface FakeRequest {
  readonly store: FakeStore;
  readonly method: string;
  /** The parts of the path that a route names, decoded. */
  readonly params: readonly string[];
  readonly query: QueryParameters;
  /** The parsed body; undefined if it is empty. */
  readonly body: unknown;
  readonly headers: Headers;
  readonly signal: AbortSignal;
}

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly stream?: ReadableStream<Uint8Array>;
}

export type Route = (request: FakeRequest) => Reply | Promise<Reply>;

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const created = (body: unknown): Reply => ({ status: 201, body });
export const nothing: Reply = { status: 204 };

/** Creates something once per key: a repeat is answered as the first time. */
export function createOnce(request: FakeRequest, kind: string, make: (key: string | null) => unknown): Reply {
  const { store, headers, body } = request;
  const inBody = kind === 'job' && isObject(body) ? body.idempotency_key : undefined;
  const key = keyOfRequest(headers.get('idempotency-key'), typeof inBody === 'string' ? inBody : null, invalid);
  if (key === null) return created(make(null));
  const before = store.keys.get(key);
  if (before === undefined) {
    const answer = make(key);
    store.keys.set(key, { kind, answer });
    return created(answer);
  }
  if (before.kind !== kind) throw new Problem('conflict', 'the key was used for another kind of request');
  return { status: 201, body: before.answer, headers: { 'Idempotency-Replayed': 'true' } };
}

export const parameter = new QueryReader(invalid);

const PARAMETERS = new Set([
  'limit',
  'offset',
  'order_by',
  'include_total',
  'cursor',
  'created_after',
  'created_before',
]);

interface Listed {
  readonly created_at: string;
}

const OFFSETS = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 };
const ORDERS = ['created_at ASC', 'created_at DESC'];

/** One page of a list that is in order of creation. The cursor names the list and the number of items before it. */
export function page<T extends Listed>(
  request: FakeRequest,
  key: string,
  all: readonly T[],
  filters: Readonly<Record<string, (item: T, value: string) => boolean>> = {},
  moreOrders: readonly string[] = [],
): Reply {
  const { query } = request;
  for (const name of Object.keys(query)) {
    if (!PARAMETERS.has(name) && !Object.hasOwn(filters, name)) throw invalid(name, 'is not a known parameter');
  }
  const cursor = parameter.text(query, 'cursor');
  const limit = numberIn(query, 'limit', PAGE_LIMITS);
  const offset = cursor === null ? numberIn(query, 'offset', OFFSETS) : placeOf(cursor, key);
  const after = parameter.instant(query, 'created_after');
  const before = parameter.instant(query, 'created_before');
  const wanted = Object.entries(filters).flatMap(([name, matches]) => {
    const value = parameter.text(query, name);
    return value === null ? [] : [(item: T) => matches(item, value)];
  });
  const matching = all.filter(
    (item) =>
      (after === null || Date.parse(item.created_at) >= Date.parse(after)) &&
      (before === null || Date.parse(item.created_at) < Date.parse(before)) &&
      wanted.every((matches) => matches(item)),
  );
  if (parameter.oneOf(query, 'order_by', [...ORDERS, ...moreOrders]) !== 'created_at ASC') matching.reverse();
  const more = offset + limit < matching.length;
  return ok({
    [key]: matching.slice(offset, offset + limit),
    limit,
    offset: cursor === null ? offset : 0,
    has_more: more,
    ...(more && { next_cursor: cursorOf(key, offset + limit) }),
    ...(parameter.truth(query, 'include_total') && { total: matching.length }),
  });
}

/** One page of a list that is in an order of its own: of names, if they are given. */
export function pageByName<T>(
  request: FakeRequest,
  key: string,
  all: readonly T[],
  nameOf?: (item: T) => string,
): Reply {
  const { query } = request;
  const cursor = parameter.text(query, 'cursor');
  const limit = numberIn(query, 'limit', PAGE_LIMITS);
  const from = cursor === null ? 0 : placeOf(cursor, key);
  const compare = (a: T, b: T): number => (nameOf!(a) < nameOf!(b) ? -1 : 1);
  const sorted = nameOf === undefined ? all : [...all].sort(compare);
  const more = from + limit < sorted.length;
  return ok({
    [key]: sorted.slice(from, from + limit),
    has_more: more,
    ...(more && { next_cursor: cursorOf(key, from + limit) }),
  });
}

const cursorOf = (key: string, place: number): string => btoa(JSON.stringify([key, place]));

function placeOf(cursor: string, key: string): number {
  try {
    const [list, place] = JSON.parse(atob(cursor)) as unknown[];
    if (list === key && Number.isSafeInteger(place) && (place as number) >= 0) return place as number;
  } catch {
    // Falls through: whatever is wrong with it, no page came with it.
  }
  throw new Problem('invalid_request', BAD_CURSOR.error, [BAD_CURSOR.detail]);
}

/** A number of the query. The SDK asks for strict handling: what would be clamped is refused. */
export function numberIn(query: QueryParameters, name: string, limits: Limits): number {
  const number = parameter.wholeNumber(query, name, limits);
  if (clampedTo(query[name], limits) === null) return number;
  throw invalid(name, `must be ${limits.minimum} to ${limits.maximum}`);
}

/** A number of a body, which is clamped. */
export function clamp(given: number | null | undefined, { minimum, maximum, default: absent }: Limits): number {
  return Math.min(maximum, Math.max(minimum, given ?? absent));
}

/** What a stream is about, as it is now. */
export interface Watched {
  /** Changes with every transition that is an event. */
  readonly version: string;
  readonly record: unknown;
  readonly progress?: unknown;
  readonly last: boolean;
}

/** A stream of server-sent events: the state now, then after every transition, until the last. */
export function eventStream({ store, signal }: FakeRequest, read: () => Watched): Reply {
  const encoder = new TextEncoder();
  let stop = (): void => undefined;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      let version = '';
      let progress = '';
      const send = (event: string, data: unknown): void =>
        controller.enqueue(encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
      const look = (): void => {
        const now = read();
        const said = JSON.stringify(now.progress ?? null);
        if (now.version !== version) send('status', now.record);
        else if (said !== progress && said !== 'null') send('progress', now.progress);
        [version, progress] = [now.version, said];
        if (!now.last) return;
        stop();
        controller.close();
      };
      stop = store.watch(look);
      signal.addEventListener('abort', () => {
        stop();
        controller.error(signal.reason);
      });
      look();
    },
    cancel: () => stop(),
  });
  return { status: 200, stream };
}
