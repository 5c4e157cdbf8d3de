import { isObject } from '../../json/object.js';
import { Problem } from './problem.js';
import type { FakeStore } from './store.js';

/** A request as the routes see it. */
export interface Exchange {
  readonly store: FakeStore;
  readonly method: string;
  /** The parts of the path that a route names, decoded. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
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

export type Route = (exchange: Exchange) => Reply | Promise<Reply>;

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const created = (body: unknown): Reply => ({ status: 201, body });
export const nothing: Reply = { status: 204 };

/** Creates something once per key: a repeat is answered as the first time. */
export function once(exchange: Exchange, kind: string, make: (key: string | null) => unknown): Reply {
  const { store, headers, body } = exchange;
  const inBody = kind === 'job' && isObject(body) ? body.idempotency_key : undefined;
  const key = keyOf(headers.get('idempotency-key') ?? (typeof inBody === 'string' ? inBody : ''));
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

/** Null: there is none. */
export function keyOf(text: string, name = 'Idempotency-Key'): string | null {
  const key = text.trim();
  if ([...key].length > 255) throw new Problem('invalid_request', `${name} must NOT have more than 255 characters`);
  if (key.startsWith('millrace:')) throw new Problem('invalid_request', `${name} must not begin with millrace:`);
  return key === '' ? null : key;
}

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

/** One page of a list that is in order of creation. The cursor is the number of items before it. */
export function page<T extends Listed>(
  exchange: Exchange,
  key: string,
  all: readonly T[],
  filters: Readonly<Record<string, (item: T, value: string) => boolean>> = {},
): Reply {
  const { query } = exchange;
  for (const name of query.keys()) {
    if (!PARAMETERS.has(name) && !Object.hasOwn(filters, name)) {
      throw new Problem('invalid_request', `${name} is not a known parameter`, [{ path: name, message: 'is unknown' }]);
    }
  }
  const limit = Math.min(100, Math.max(1, Number(query.get('limit') ?? 50)));
  const offset = Number(query.get('cursor') ?? query.get('offset') ?? 0);
  const after = query.get('created_after');
  const before = query.get('created_before');
  const matching = all.filter(
    (item) =>
      (after === null || Date.parse(item.created_at) >= Date.parse(after)) &&
      (before === null || Date.parse(item.created_at) < Date.parse(before)) &&
      Object.entries(filters).every(
        ([name, matches]) => query.get(name) === null || matches(item, query.get(name) ?? ''),
      ),
  );
  if (query.get('order_by') !== 'created_at ASC') matching.reverse();
  const items = matching.slice(offset, offset + limit);
  const more = offset + limit < matching.length;
  return ok({
    [key]: items,
    limit,
    offset: query.has('cursor') ? 0 : offset,
    has_more: more,
    ...(more && { next_cursor: String(offset + limit) }),
    ...(query.get('include_total') === 'true' && { total: matching.length }),
  });
}

/** The number of a query parameter, clamped. */
export function seconds(text: string | number | null | undefined, fallback: number, low: number, high: number): number {
  const value = text === null || text === undefined ? fallback : Number(text);
  if (Number.isNaN(value)) throw new Problem('invalid_request', 'a number was expected');
  return Math.min(high, Math.max(low, value));
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
export function eventStream({ store, signal }: Exchange, read: () => Watched): Reply {
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
