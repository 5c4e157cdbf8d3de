import type { ErrorBody } from '@millrace/contract';
import { API_PATH } from '../lib/places.js';
import { markExpired, session } from '../session/session.js';

/** An answer: the data to work with, and the text as it came, for whatever must be shown to the byte. */
export interface Answer<T> {
  readonly data: T;
  readonly text: string;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Anything but a success, with what a person needs to report it. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    message: string,
    /** 0: no answer at all. */
    readonly status: number,
    readonly code: string,
    readonly requestId: string | null,
    readonly retryAfterMs: number | null,
    readonly details: ErrorBody['details'] = undefined,
  ) {
    super(message);
  }
}

/** The path with its parameters; those without a value are left out. */
export function withQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

interface Known {
  readonly path: string;
  readonly etag: string;
  readonly answer: Answer<unknown>;
  readonly usedAt: number;
}

/**
 * Answers to be confirmed by a 304, the latest used last. Bounded, because each page of a list is another address; and
 * forgotten after a while, because nobody comes back to most of them.
 */
const known = new Map<string, Known>();
const KNOWN_MAX = 60;
const KNOWN_MS = 120_000;
/** A larger answer is fetched again rather than kept. */
const KNOWN_MAX_CHARS = 1_000_000;

/** Forgets all answers: they belong to whoever was signed in. */
export const forgetAnswers = (): void => known.clear();

/**
 * Reads `path` (under /api/v1). While nothing has changed, the answer is the same object as the last time. A path that
 * moves on with the clock is kept `as` something that does not: one answer, not one for every step of the clock.
 */
export async function get<T>(path: string, signal?: AbortSignal, as = path): Promise<Answer<T>> {
  const { token, as: tenant } = session.get();
  const key = `${token}\n${tenant}\n${as}`;
  const kept = known.get(key);
  const before = kept?.path === path ? kept : undefined;
  const headers: Record<string, string> = before === undefined ? {} : { 'If-None-Match': before.etag };
  const response = await send('GET', path, { headers, ...(signal === undefined ? {} : { signal }) });
  if (response.status === 304 && before !== undefined) {
    keep(key, path, before.etag, before.answer);
    return before.answer as Answer<T>;
  }
  const text = await response.text();
  const answer = { data: JSON.parse(text) as T, text };
  keep(key, path, response.headers.get('etag'), answer);
  return answer;
}

function keep(key: string, path: string, etag: string | null, answer: Answer<unknown>): void {
  known.delete(key);
  if (etag === null || answer.text.length > KNOWN_MAX_CHARS) return;
  const usedAt = Date.now();
  known.set(key, { path, etag, answer, usedAt });
  for (const [oldest, { usedAt: since }] of known) {
    if (known.size <= KNOWN_MAX && since > usedAt - KNOWN_MS) return;
    known.delete(oldest);
  }
}

export interface Change {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** Under /api/v1. */
  readonly path: string;
  /** JSON as text: raw texts of tenants are part of it, unchanged. */
  readonly body?: string | undefined;
  /** Makes a repeat harmless. */
  readonly idempotencyKey?: string | undefined;
}

/** Changes something; answers with what the server said, or null if it had nothing to say. */
export async function change<T = unknown>({ method, path, body, idempotencyKey }: Change): Promise<T | null> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey;
  const response = await send(method, path, { headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  return text === '' ? null : (JSON.parse(text) as T);
}

/** Who asks: a credential and, if it is an operator's, the tenant to read as. */
export interface Caller {
  readonly token: string | null;
  readonly as: string | null;
}

/** What operators read as themselves, whoever's pages they are on. */
const OWN_PATHS = '/admin/';

/** Sends a request with the credential; resolves for successes and 304, throws an ApiError for everything else. */
export async function send(
  method: string,
  path: string,
  init: RequestInit = {},
  { token, as }: Caller = session.get(),
): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== null) headers.set('Authorization', `Bearer ${token}`);
  if (as !== null && !path.startsWith(OWN_PATHS)) headers.set('Millrace-Tenant', as);
  let response: Response;
  try {
    response = await fetch(API_PATH + path, { ...init, method, headers, cache: 'no-store', credentials: 'omit' });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError('the server does not answer', 0, 'unreachable', null, null);
  }
  if (response.ok || response.status === 304) return response;
  if (response.status === 401 && token !== null) markExpired(token);
  throw await refusal(response);
}

async function refusal(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id');
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : null;
  const text = await response.text().catch(() => '');
  try {
    const body = JSON.parse(text) as ErrorBody;
    return new ApiError(body.error, response.status, body.code, requestId, retryAfterMs, body.details);
  } catch {
    // Not ours: a proxy in between.
    return new ApiError(`HTTP ${response.status}`, response.status, 'http', requestId, retryAfterMs);
  }
}
