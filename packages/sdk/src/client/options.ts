import { bearerTokenOf } from '../rules/token.js';
import { milliseconds, type Duration } from '../shared/duration.js';
import { Transport, type CallHooks } from '../http/transport.js';
import type { JsonObject } from '../json/object.js';
import { consoleLogger, type Logger } from '../shared/logger.js';
import type { RunningJob } from '../task/types.js';

/** Called by client and worker as they go; `/otel` is made of them. */
export interface Hooks extends CallHooks {
  /** Before a job is created. What it returns is added to the job's metadata. */
  onEnqueue?(job: { task: string; metadata: JsonObject }): JsonObject | void;
  /** Around every run of a handler. */
  wrapJob?<T>(job: RunningJob, run: () => Promise<T>): Promise<T>;
  /** Before the end of a run is reported. What it returns tells the server which span the run was. */
  onReport?(job: RunningJob): { traceparent?: string } | void;
}

/** How a client finds its server, and how patient it is. */
export interface ClientOptions {
  /** Where the server is. Default: `MILLRACE_URL`, then `http://127.0.0.1:8000`. */
  url?: string;
  /** A tenant's token. Default: `MILLRACE_TOKEN`, then one that only a server with `--dev` accepts. */
  token?: string;
  /** How long one try of a call may take; default `10s`. */
  timeout?: Duration;
  /** How often a call is tried; default 5. */
  attempts?: number;
  /** Instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Where warnings go; default the console. */
  logger?: Logger;
  hooks?: Hooks;
  /** In milliseconds; how long `result()` waits is measured by it. `FakeServer` has its own. */
  clock?: () => number;
}

export const DEFAULT_URL = 'http://127.0.0.1:8000';
/** Any token is accepted by a server with `--dev`; this one says in its log where it came from. */
export const DEVELOPMENT_TOKEN = 'dev';

/** A variable of the environment, where there is one. Empty counts as unset. */
export function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

/**
 * A token as a header can carry it.
 *
 * @throws TypeError if it cannot be one; the message does not repeat it
 */
export function sendableToken(token: string): string {
  const sendable = bearerTokenOf(token);
  if (sendable !== null) return sendable;
  throw new TypeError('the token must consist of visible ASCII characters without spaces');
}

/**
 * The address of a server.
 *
 * @throws TypeError if it is not an address of the web; `localhost:8000` is a common slip
 */
export function serverUrl(url: string): string {
  if (/^https?:\/\/[^/]/.test(url) && URL.canParse(url)) return url;
  throw new TypeError(`the url must begin with http:// or https://, unlike ${JSON.stringify(url)}`);
}

export function transportOf(options: ClientOptions): Transport {
  const fetch = options.fetch ?? globalThis.fetch;
  return new Transport({
    url: serverUrl(options.url ?? variable('MILLRACE_URL') ?? DEFAULT_URL),
    token: sendableToken(options.token ?? variable('MILLRACE_TOKEN') ?? DEVELOPMENT_TOKEN),
    timeoutMs: milliseconds(options.timeout ?? '10s'),
    attempts: options.attempts ?? 5,
    // Looked up at the call, so that what replaces the global one later (a mock, an agent) is used.
    fetch: options.fetch === undefined ? (...args) => globalThis.fetch(...args) : fetch,
    logger: options.logger ?? consoleLogger,
    ...(options.hooks !== undefined && { hooks: options.hooks }),
  });
}
