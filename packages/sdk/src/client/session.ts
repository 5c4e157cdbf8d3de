import { InvalidRequestError } from '../errors/call-errors.js';
import type { Transport } from '../http/transport.js';
import { uuid7 } from '../shared/uuid7.js';
import type { ErrorCode, Feature } from '../wire/index.js';
import type { ServerFeatures } from './server-features.js';
import type { Hooks } from './options.js';
import type { Clock } from './wait.js';

/** What the parts of a client share. */
export interface Session {
  readonly transport: Transport;
  readonly features: ServerFeatures;
  readonly hooks: Hooks;
  /** By which waiting for a result is limited. */
  readonly clock: Clock;
}

export interface CreateRequest {
  readonly method?: 'POST' | 'PUT';
  readonly path: string;
  readonly body?: unknown;
  /** The caller's own key; null: the body carries keys itself. */
  readonly key?: string | null | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly doneIf?: readonly ErrorCode[];
  /** The feature without which the server ignores the key here. `POST /jobs` has always known it. */
  readonly keyFeature?: Feature;
}

/**
 * Creates something, once: every create carries a key, so that it can be repeated when no answer came. Where an older
 * server would ignore the key, a try whose outcome is unknown is not repeated.
 */
export async function create<T>(session: Session, request: CreateRequest): Promise<T> {
  const { keyFeature, signal, body, doneIf } = request;
  // An empty key is most often a variable that is not set: jobs that have nothing in common would become one.
  if (request.key === '') throw new InvalidRequestError('a key must not be empty', { code: 'invalid_request' });
  const key = request.key === null ? null : (request.key ?? uuid7());
  const answer = await session.transport.call<T>({
    method: request.method ?? 'POST',
    path: request.path,
    signal,
    ...(key !== null && { key }),
    ...(body !== undefined && { body }),
    ...(doneIf !== undefined && { doneIf }),
    ...(keyFeature !== undefined && { repeatable: () => session.features.has(keyFeature) }),
  });
  return answer.body;
}

export async function read<T>(
  session: Session,
  path: string,
  query: Record<string, string | number | boolean | undefined> = {},
  signal?: AbortSignal,
): Promise<T> {
  return (await session.transport.call<T>({ method: 'GET', path, query, signal })).body;
}

/** A segment of a path. `.` and `..` would be taken for directories, whatever their encoding. */
export function segment(text: string): string {
  if (text === '.' || text === '..') throw new TypeError(`${JSON.stringify(text)} cannot be part of an address`);
  return encodeURIComponent(text);
}
