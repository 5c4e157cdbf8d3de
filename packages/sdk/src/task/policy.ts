/* eslint-disable @typescript-eslint/no-explicit-any -- a policy that is not that of a task takes any input */
import { InvalidRequestError } from '../errors/call-errors.js';
import { milliseconds, wholeSeconds, type Duration } from '../shared/duration.js';
import type { JsonObject } from '../json/object.js';
import type { JobConfigInput, LimitInput, RateInput, UniqueInput } from '../wire/index.js';

/** When and how often a failed attempt is repeated. What is left out takes the service's default. */
export interface Retries {
  /** Retries after the first attempt: 0 to 1000, default 3. */
  max?: number;
  /** How the delay grows; default exponential. */
  backoff?: 'fixed' | 'linear' | 'exponential';
  /** The first delay, default 60 s. In whole seconds, rounded up. */
  delay?: Duration;
  /** The longest delay, default an hour. */
  maxDelay?: Duration;
  /** 0.1 (the default) spreads each delay by plus or minus 10 per cent. */
  jitter?: number;
}

/** How many in how long: `'100/1m'`, `'5/1s'`. The length is one of whole seconds. */
export type RateText = `${number}/${Duration}`;

/**
 * How many jobs of a key may run at a time, or start in a while, whoever enqueued them: `running`, `rate` or both. A
 * key belongs to the queue; the numbers that hold are those of the newest job.
 *
 * @example
 * limits: [{ key: ({ userId }) => `user-${userId}`, running: 2 }, { key: 'stripe', rate: '100/1m' }]
 */
export interface Limit<In = any> {
  /** 1 to 200 characters, or what makes them of the input. In a step that gets its input from another: only a text. */
  key: string | ((input: In) => string);
  /** 1 to 10,000. */
  running?: number;
  /** Evenly spaced: up to 100,000 in up to a day. */
  rate?: RateText;
  /** With `rate`: how many may start at once, after a pause; default 1. */
  burst?: number;
}

/**
 * One job instead of several: while there is another of that key, a call gets that one.
 *
 * @example
 * unique: { key: ({ siteId }) => `rebuild-${siteId}`, while: 'waiting' }
 */
export interface Unique<In = any> {
  /** 1 to 200 characters, or what makes them of the input. Belongs to the queue. */
  key: string | ((input: In) => string);
  /** How long another one is in the way: until a worker first takes it, or until it has ended. */
  while: 'waiting' | 'unfinished';
  /** `replace`, with `waiting` only: the one that waits takes the new input and instant. Default `keep`. */
  onConflict?: 'keep' | 'replace';
  /** With `replace`: the longest that a job is put off, from the first call. */
  maxWait?: Duration;
}

/** How a job is run. */
export interface Policy<In = any> {
  /** The queue whose workers run it; `tasks` if neither the task nor the call names one. */
  queue?: string;
  /** Within a queue, jobs of higher priority are claimed first. */
  priority?: number;
  retries?: Retries;
  /** How long an attempt may take; default five minutes. */
  timeout?: Duration;
  /** One or two: the job starts when each of them has room. */
  limits?: readonly Limit<In>[];
  /**
   * A job that no worker has begun this long after its creation is cancelled; a call may give an instant instead. Not
   * for steps of workflows.
   */
  expires?: Duration | Date;
  /** Not for steps of workflows and schedules. */
  unique?: Unique<In>;
}

export type When = { delay?: Duration; runAt?: never } | { runAt?: Date; delay?: never };

/** What one call of a task may say beyond its input. */
export type EnqueueOptions = Policy &
  When & {
    /** Makes the call repeatable across processes: the same key creates one job. Without it, each call has its own. */
    key?: string;
    /** Stored with the job and returned as it is. */
    metadata?: JsonObject;
    signal?: AbortSignal;
  };

/** The queue of tasks that name none. On the server's own default queue, a server fails what it has no handler for. */
export const DEFAULT_QUEUE = 'tasks';

/** Later policies win, field by field. */
export function mergePolicies(first: Policy, second: Policy): Policy {
  const retries = { ...defined(first.retries ?? {}), ...defined(second.retries ?? {}) };
  return { ...defined(first), ...defined(second), ...(Object.keys(retries).length > 0 && { retries }) };
}

/** The policy as the service reads it, without the queue. `input` is null where it is not known yet. */
export function configOf(policy: Policy, input: JsonObject | null): Omit<JobConfigInput, 'queue'> {
  const { priority, retries, timeout, limits, expires, unique } = policy;
  return defined({
    priority,
    max_retries: retries?.max,
    timeout_secs: timeout === undefined ? undefined : wholeSeconds(timeout),
    retry_backoff: retries?.backoff,
    retry_delay_secs: retries?.delay === undefined ? undefined : wholeSeconds(retries.delay),
    retry_max_delay_secs: retries?.maxDelay === undefined ? undefined : wholeSeconds(retries.maxDelay),
    jitter_factor: retries?.jitter,
    limits: limits?.map((limit) => limitOf(limit, input)),
    expires_secs: expires === undefined || expires instanceof Date ? undefined : wholeSeconds(expires),
    expires_at: expires instanceof Date ? expires.toISOString() : undefined,
    unique: unique && uniqueOf(unique, input),
  });
}

function limitOf(limit: Limit, input: JsonObject | null): LimitInput {
  const { running, rate, burst } = limit;
  if (burst !== undefined && rate === undefined) throw new TypeError('burst goes with a rate');
  return {
    key: keyOf(limit, input),
    ...(running !== undefined && { running }),
    ...(rate !== undefined && { rate: { ...rateOf(rate), ...(burst !== undefined && { burst }) } }),
  };
}

const RATE = /^(\d+)\/(\d.*)$/;

function rateOf(rate: RateText): RateInput {
  const [, count, length] = RATE.exec(rate) ?? [];
  const ms = length === undefined ? NaN : milliseconds(length as Duration);
  if (!Number.isInteger(ms / 1_000))
    throw new TypeError(`${JSON.stringify(rate)} is not a rate; write a number and whole seconds: '100/1m'`);
  return { count: Number(count), per_secs: ms / 1_000 };
}

function uniqueOf(unique: Unique, input: JsonObject | null): UniqueInput {
  const { onConflict, maxWait } = unique;
  return {
    key: keyOf(unique, input),
    while: unique.while,
    ...(onConflict !== undefined && { on_conflict: onConflict }),
    ...(maxWait !== undefined && { max_wait_secs: wholeSeconds(maxWait) }),
  };
}

function keyOf({ key }: Pick<Limit, 'key'>, input: JsonObject | null): string {
  if (typeof key === 'string') return key;
  if (input !== null) return key(input);
  const message = 'the key must be a text here: the input of this step is only known when it runs';
  throw new InvalidRequestError(message, { code: 'invalid_request' });
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The fields of an object that have a value. */
export function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
