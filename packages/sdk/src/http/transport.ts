import { errorFor, NoAnswerError, type MillraceError } from '../errors/call-errors.js';
import { isObject } from '../json/object.js';
import type { Logger } from '../shared/logger.js';
import type { ErrorCode } from '../wire/index.js';
import { NOT_JSON, parse, reasonOf, refusal, routeOf } from './answers.js';
import { pause, startDeadline } from './deadline.js';
import { isRepeated, retryDelayMs } from './retry.js';
import { WarningLog } from './warning-log.js';

/** What is told of calls as they are made. A hook that throws spoils the call: keep them simple. */
export interface CallHooks {
  /** Before every try. `headers` may be added to. */
  onRequest?(call: { method: string; path: string; headers: Record<string, string> }): void;
  /** After every try; `status` is null if nothing answered. */
  onResponse?(call: { method: string; path: string; status: number | null; attempt: number; ms: number }): void;
}

/** What a call needs of `fetch`. */
export interface ExchangeRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface ExchangeAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Pick<Headers, 'get'>;
  text(): Promise<string>;
}

export type Exchange = (url: string, request: ExchangeRequest) => Promise<ExchangeAnswer>;

export interface TransportOptions {
  /** Where the server is: `http://127.0.0.1:8000`. A path in it is kept. */
  readonly url: string;
  readonly token: string;
  /** How long one try may take. */
  readonly timeoutMs: number;
  /** How many tries a call has. */
  readonly attempts: number;
  /** Streams, and calls unless there is an exchange. */
  readonly fetch: typeof globalThis.fetch;
  /** Calls, instead of `fetch`. */
  readonly exchange?: Exchange;
  readonly logger: Logger;
  readonly hooks?: CallHooks;
}

export interface CallRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v1`, already percent-encoded: `/jobs/…`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** Instead of `body`: the JSON text itself. */
  readonly bodyText?: string;
  /** Sent beside those of every call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The Idempotency-Key. */
  readonly key?: string;
  readonly signal?: AbortSignal | undefined;
  /** Instead of those of the transport. */
  readonly timeoutMs?: number;
  readonly attempts?: number;
  /** After a try whose outcome is unknown, codes that say that it took effect: the call has then succeeded. */
  readonly doneIf?: readonly ErrorCode[];
  /** Asked before a try is repeated whose outcome is unknown. Absent: it may be. */
  readonly repeatable?: () => Promise<boolean>;
}

export interface Answer<T> {
  readonly status: number;
  /** The parsed JSON; undefined if there is none. */
  readonly body: T;
  /** The body as it came. */
  readonly text: string;
  readonly headers: Pick<Headers, 'get'>;
  /** How many tries it took. */
  readonly attempts: number;
}

type Try = { readonly answer: Answer<unknown> } | { readonly error: MillraceError };

/**
 * Makes calls and repeats them: on no answer and on 500, 502, 503 and 504, after what `Retry-After` asks for or a
 * random pause. Everything it is used for can be repeated, because creates carry a key; a caller that cannot be sure of
 * that says so with `repeatable`.
 */
export class Transport {
  readonly #options: TransportOptions;
  readonly #base: string;
  readonly #warnings: WarningLog;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#base = `${options.url.replace(/\/+$/, '')}/api/v1`;
    this.#warnings = new WarningLog(options.logger);
  }

  /**
   * Calls until there is a final answer or no try is left.
   *
   * @throws MillraceError of the class that belongs to the answer's code, NoAnswerError or AbortedError
   */
  async call<T>(request: CallRequest): Promise<Answer<T>> {
    const attempts = request.attempts ?? this.#options.attempts;
    const progress = { unknown: false };
    for (let attempt = 1; ; attempt++) {
      const tried = await this.#try(request, attempt, progress);
      if ('answer' in tried) return tried.answer as Answer<T>;
      const { error } = tried;
      const final = error.code === 'aborted' || (error.status !== null && !isRepeated(error.status));
      if (final || attempt >= attempts) throw error;
      if (progress.unknown && (await request.repeatable?.()) === false) throw error;
      await pause(retryDelayMs(attempt, retryAfterOf(error)), request.signal);
    }
  }

  /** Opens a stream: one try, whose time limit ends with the headers. The caller reads or cancels the body. */
  async open(path: string, signal: AbortSignal): Promise<Response> {
    const deadline = startDeadline(this.#options.timeoutMs, signal);
    // The stream outlives the deadline; the caller's signal alone may end it.
    const stream = new AbortController();
    const end = (): void => stream.abort(signal.reason ?? deadline.signal.reason);
    deadline.signal.addEventListener('abort', end, { once: true });
    signal.addEventListener('abort', end, { once: true });
    try {
      const request: CallRequest = { method: 'GET', path };
      const headers = this.#headers(request);
      headers.Accept = 'text/event-stream';
      const response = await this.#options.fetch(this.#base + path, { headers, signal: stream.signal });
      if (response.ok) return response;
      throw refusal(response, await response.text(), { request, mayHaveHappened: false });
    } catch (error) {
      if (isMillraceError(error)) throw error;
      throw this.#noAnswer(error, { path, method: 'GET', signal }, false);
    } finally {
      deadline.clear();
    }
  }

  async #try(request: CallRequest, attempt: number, progress: { unknown: boolean }): Promise<Try> {
    const { method, path, signal } = request;
    if (signal?.aborted === true) return { error: this.#noAnswer(signal.reason, request, progress.unknown) };
    const headers = this.#headers(request);
    this.#options.hooks?.onRequest?.({ method, path, headers });
    const body = request.bodyText ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    const started = performance.now();
    const told = (status: number | null): void =>
      this.#options.hooks?.onResponse?.({ method, path, status, attempt, ms: performance.now() - started });
    const deadline = startDeadline(request.timeoutMs ?? this.#options.timeoutMs, signal);
    let response: ExchangeAnswer;
    let text: string;
    try {
      const init = { method, headers, signal: deadline.signal, ...(body !== undefined && { body }) };
      response = await (this.#options.exchange ?? this.#options.fetch)(this.#url(request), init);
      text = await response.text();
    } catch (error) {
      told(null);
      progress.unknown ||= method !== 'GET';
      return { error: this.#noAnswer(error, request, progress.unknown) };
    } finally {
      deadline.clear();
    }
    told(response.status);
    return this.#judge(request, response, text, attempt, progress);
  }

  #judge(
    request: CallRequest,
    response: ExchangeAnswer,
    text: string,
    attempt: number,
    progress: { unknown: boolean },
  ): Try {
    if (response.ok) {
      const body = text === '' ? undefined : parse(text);
      if (body === NOT_JSON) {
        progress.unknown ||= request.method !== 'GET';
        return { error: this.#noAnswer(new Error('the answer is not JSON'), request, progress.unknown) };
      }
      if (isObject(body)) this.#warnings.write(body.warnings);
      if (response.headers.get('Idempotency-Mismatch') === 'true') this.#warnings.write([mismatch(request)]);
      return { answer: { status: response.status, body, text, headers: response.headers, attempts: attempt } };
    }
    const afterUnknown = progress.unknown;
    // 503 is the service's own refusal; anything else that is repeated may have come after the change was made.
    if (isRepeated(response.status) && response.status !== 503) progress.unknown ||= request.method !== 'GET';
    const mayHaveHappened = isRepeated(response.status) && progress.unknown;
    const error = refusal(response, text, { request, mayHaveHappened });
    if (afterUnknown && request.doneIf?.some((code) => code === error.code) === true) {
      return {
        answer: { status: response.status, body: undefined, text, headers: response.headers, attempts: attempt },
      };
    }
    return { error };
  }

  #url({ path, query = {} }: CallRequest): string {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value));
    const text = parameters.toString();
    return `${this.#base}${path}${text === '' ? '' : `?${text}`}`;
  }

  #headers(request: CallRequest): Record<string, string> {
    return {
      Authorization: `Bearer ${this.#options.token}`,
      Accept: 'application/json',
      // A misspelt field is refused instead of ignored.
      Prefer: 'handling=strict',
      ...((request.body !== undefined || request.bodyText !== undefined) && { 'Content-Type': 'application/json' }),
      ...(request.key !== undefined && { 'Idempotency-Key': request.key }),
      ...request.headers,
    };
  }

  #noAnswer(
    cause: unknown,
    request: Pick<CallRequest, 'method' | 'path' | 'signal' | 'key'>,
    mayHaveHappened: boolean,
  ): MillraceError {
    const known = { mayHaveHappened, key: request.key ?? null, route: routeOf(request) };
    if (request.signal?.aborted === true) {
      const fields = { ...known, code: 'aborted', cause: request.signal.reason as unknown } as const;
      return errorFor('the call was aborted', fields);
    }
    const message = `no answer from ${this.#options.url} (${reasonOf(cause)})`;
    return new NoAnswerError(message, { ...known, code: 'no_answer', cause });
  }
}

const mismatch = ({ key = 'of a job', ...request }: CallRequest): string =>
  `the key ${key} was used before with another body, and what came of that was answered (${routeOf(request)})`;

const retryAfterOf = (error: MillraceError): number | null =>
  'retryAfter' in error && typeof error.retryAfter === 'number' ? error.retryAfter : null;

const isMillraceError = (error: unknown): error is MillraceError =>
  error instanceof Error && 'mayHaveHappened' in error;
