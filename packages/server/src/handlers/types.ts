import type { Logger } from 'pino';

/** What the author of a handler works with. */
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
  /** The payload as it was sent, to the letter. */
  readonly payloadText: string;
}

export interface HandlerContext {
  readonly job: HandlerJob;
  readonly log: Logger;
  /** Fires on timeout, when the job is cancelled or its lease is lost, and when shutdown runs out of time. */
  readonly signal: AbortSignal;
}

export type HandlerResult = JsonObject | RawJson | undefined | void;

/** Delivery is at least once: a handler may see the same job again and must be idempotent. */
export type Handler = (payload: JsonObject, context: HandlerContext) => HandlerResult | Promise<HandlerResult>;

export type Handlers = Readonly<Record<string, Handler>>;

/** A result that is JSON text already. The text must be an object. */
export class RawJson {
  constructor(readonly text: string) {}
}

/** Throw it from a handler to fail the job for good, whatever budget of retries is left. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}
