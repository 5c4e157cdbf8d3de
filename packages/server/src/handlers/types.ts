import {
  NonRetryableError,
  type AnyTask,
  type Args,
  type CallContext,
  type DurableContext,
  type InOf,
} from '@millrace/sdk/durable';
import type { Logger } from 'pino';

/** What the author of a handler works with. JSON values first: a payload is an object of them. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = Record<string, JsonValue>;

export interface HandlerJob {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly tenant: string;
  /** 1 for the first delivery. */
  readonly attempt: number;
  readonly retryCount: number;
  readonly workflowId: string | null;
  readonly workflowStep: string | null;
  /** The payload as text, exactly as sent: use it where numbers beyond 2^53 matter. */
  readonly payloadText: string;
}

/** What a handler gets beside its payload. Steps, waits and calls of other tasks are those of the SDK. */
export interface HandlerContext extends DurableContext, CallContext {
  readonly job: HandlerJob;
  readonly log: Logger;
  /** Aborts on timeout, when the job is cancelled or its lease is lost, and when shutdown runs out of time. */
  readonly signal: AbortSignal;
  /** A key for an effect of this job: the same in every attempt, and in replays of it. */
  readonly key: (name: string) => string;
  /** Creates a job once, however often this one is tried: calls are counted within their step. Resolves to its id. */
  readonly enqueue: <T extends AnyTask>(task: T, ...args: Args<InOf<T>>) => Promise<{ readonly id: string }>;
}

export type HandlerResult = JsonObject | RawJson | undefined | void;

/**
 * Runs one attempt of a job. What it returns becomes the job's result; what it throws fails the attempt. Delivery is at
 * least once: a handler may see the same job again and must be idempotent.
 *
 * @example
 * const resize: Handler = async (payload, { signal }) => ({ url: await resizeImage(payload.url, signal) });
 */
export type Handler = (payload: JsonObject, context: HandlerContext) => HandlerResult | Promise<HandlerResult>;

export type Handlers = Readonly<Record<string, Handler>>;

/** A result that is already JSON text. The text must be that of an object. */
export class RawJson {
  constructor(readonly text: string) {}
}

/**
 * Thrown by a handler to fail its job for good, even if it has retries left.
 *
 * @example
 * if (user === null) throw new PermanentError(`no user ${id}`);
 */
export class PermanentError extends NonRetryableError {
  override readonly name = 'PermanentError';
}
