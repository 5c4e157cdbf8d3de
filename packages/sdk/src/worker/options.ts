import { hostname } from 'node:os';
import { DEFAULT_URL, DEVELOPMENT_TOKEN, sendableToken, serverUrl, variable, type Hooks } from '../client/options.js';
import { milliseconds, wholeSeconds, type Duration } from '../shared/duration.js';
import { consoleLogger, type Logger } from '../shared/logger.js';
import type { AnyTask, Args, Handler, InOf, JobHandle, OutOf } from '../task/types.js';
import type { WorkerEvent } from './events.js';
import { nodeExchange } from './calls/node-exchange.js';
import type { Connection } from './calls/calls.js';

/** What `ctx.enqueue` needs of a client: a `Millrace` with a tenant's token is one. */
export interface ChildClient {
  enqueue<T extends AnyTask>(task: T, ...args: Args<InOf<T>>): Promise<JobHandle<OutOf<T>>>;
  /** Whose jobs it creates. */
  whoami(): Promise<{ readonly tenant: string | null }>;
  /** Looks at jobs that were created. */
  readonly jobs?: { handle<T extends AnyTask>(task: T, id: string): JobHandle<OutOf<T>> };
}

/** What a worker serves, and how. */
export interface WorkerOptions {
  /** Where the server is; `MILLRACE_URL`, or `http://127.0.0.1:8000`. */
  readonly url?: string;
  /** The worker token; `MILLRACE_WORKER_TOKEN`, or `MILLRACE_TOKEN`, or `dev`. */
  readonly token?: string;
  /** How many jobs of each queue run at a time. */
  readonly queues: Readonly<Record<string, number>>;
  readonly handlers: readonly Handler[];
  /** For what `ctx.enqueue` creates: to look at it, to give it a key, and where the worker's token may not create. */
  readonly client?: ChildClient;
  /** How long the server waits for a sign of life: whole seconds, 1 s to 1 h; 60 s unless said otherwise. */
  readonly lease?: Duration;
  /** How long a poll waits at the server: whole seconds, up to 30 s; 20 s unless said otherwise. */
  readonly poll?: Duration;
  /** How long a stop waits for handlers; 25 s unless said otherwise. */
  readonly shutdown?: Duration;
  /** Shown on the jobs that it runs and in the list of workers. */
  readonly name?: string;
  /** Where heartbeats come from: a thread of their own, or the handlers' (where a blocked event loop loses jobs). */
  readonly keeper?: 'thread' | 'inline';
  /** Whether SIGTERM and SIGINT stop it; they do unless said otherwise. */
  readonly signals?: boolean;
  readonly logger?: Logger;
  /** Where `ctx.log` writes: to the logger and the job (`kept`, the default), or to the logger alone (`local`). */
  readonly logs?: 'kept' | 'local';
  readonly hooks?: Hooks;
  /** Makes the calls instead of `node:http`. Heartbeats then come from the same thread. */
  readonly fetch?: typeof globalThis.fetch;
  onEvent?(event: WorkerEvent): void;
}

/** The options with every default applied. */
export interface Settings {
  readonly connection: Connection;
  readonly queues: ReadonlyMap<string, number>;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly client: ChildClient | undefined;
  readonly leaseSecs: number;
  readonly pollSecs: number;
  readonly shutdownMs: number;
  readonly name: string;
  readonly keeper: 'thread' | 'inline';
  readonly signals: boolean;
  readonly logger: Logger;
  readonly logs: 'kept' | 'local';
  readonly hooks: Hooks;
}

const OWN_CALLS = { fetch: globalThis.fetch, exchange: nodeExchange };
const MOST_SLOTS = 10_000;
const NAME_MAX_LENGTH = 255;

/**
 * Applies the defaults.
 *
 * @throws TypeError if an option makes no sense
 */
export function withDefaults(options: WorkerOptions): Settings {
  const { logger = consoleLogger, hooks = {}, fetch } = options;
  const url = serverUrl(options.url ?? variable('MILLRACE_URL') ?? DEFAULT_URL);
  const token = options.token ?? variable('MILLRACE_WORKER_TOKEN') ?? variable('MILLRACE_TOKEN') ?? DEVELOPMENT_TOKEN;
  const settings = {
    connection: { url, token: sendableToken(token), logger, hooks, ...(fetch === undefined ? OWN_CALLS : { fetch }) },
    queues: slots(options.queues),
    handlers: byName(options.handlers),
    client: options.client,
    leaseSecs: secondsWithin('lease', options.lease ?? '60s', 1, 3_600),
    pollSecs: secondsWithin('poll', options.poll ?? '20s', 1, 30),
    shutdownMs: milliseconds(options.shutdown ?? '25s'),
    name: (options.name ?? `${hostname()}-${process.pid}`).slice(0, NAME_MAX_LENGTH),
    keeper: options.keeper ?? (fetch === undefined ? 'thread' : 'inline'),
    signals: options.signals ?? true,
    logger,
    logs: options.logs ?? 'kept',
    hooks,
  } as const;
  if (fetch !== undefined && settings.keeper === 'thread') {
    throw new TypeError('a fetch of your own cannot be used by the keeper thread; leave one of them out');
  }
  return settings;
}

function slots(queues: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
  const entries = Object.entries(queues);
  if (entries.length === 0) throw new TypeError('a worker needs a queue: queues: { emails: 10 }');
  for (const [queue, count] of entries) {
    if (queue === '') throw new TypeError('a queue has no name');
    if (Number.isInteger(count) && count >= 1 && count <= MOST_SLOTS) continue;
    throw new TypeError(`the queue ${queue} needs a whole number of slots from 1 to ${MOST_SLOTS}, not ${count}`);
  }
  return new Map(entries);
}

function byName(handlers: readonly Handler[]): ReadonlyMap<string, Handler> {
  const map = new Map<string, Handler>();
  for (const handler of handlers) {
    if (map.has(handler.task)) throw new TypeError(`there are two handlers for the task ${handler.task}`);
    map.set(handler.task, handler);
  }
  return map;
}

function secondsWithin(name: string, duration: Duration, least: number, most: number): number {
  const seconds = wholeSeconds(duration);
  if (seconds >= least && seconds <= most) return seconds;
  throw new TypeError(`${name} must be between ${least} s and ${most} s, not ${duration}`);
}
