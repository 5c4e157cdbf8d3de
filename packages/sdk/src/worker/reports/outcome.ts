import { NonRetryableError, RetryAfterError } from '../../errors/handler-errors.js';
import type { Suspension } from '../../durable/suspension.js';
import { JsonText } from '../../shared/json-text.js';
import { thrownText } from '../../rules/thrown.js';
import type { JsonObject } from '../../json/object.js';
import type { ErrorDetails } from '../../wire/index.js';

/** How an attempt ended, as it will be reported. `result` is JSON text: written once, however often it is sent. */
export type Outcome =
  | { readonly kind: 'completed'; readonly result: string }
  | {
      readonly kind: 'failed';
      readonly error: string;
      readonly retryable: boolean;
      readonly retryAfterSecs?: number;
      readonly details?: ErrorDetails;
      /** What the handler threw, for the program's own listeners; not sent. */
      readonly cause?: unknown;
    }
  /** Not before `delaySecs` have passed, if there are any. */
  | { readonly kind: 'released'; readonly delaySecs?: number }
  | { readonly kind: 'suspended'; readonly suspension: Suspension };

/** The service cuts at 65,536 characters and 64 KiB; no need to send more. */
const ERROR_MAX_LENGTH = 65_536;
const RETRY_AFTER_MAX_SECS = 2_592_000;

export function completion(result: JsonObject): Outcome {
  try {
    return { kind: 'completed', result: result instanceof JsonText ? result.text : objectText(result) };
  } catch (error) {
    return permanentFailure(`the result cannot be written as JSON: ${messageOf(error)}`, error);
  }
}

/** An object may still write itself as something else (`toJSON`). */
function objectText(result: JsonObject): string {
  const text = JSON.stringify(result) as string | undefined;
  if (text?.startsWith('{') !== true) throw new TypeError('it is no object');
  return text;
}

/** What a handler's error means: NonRetryableError ends the job, RetryAfterError names the next attempt. */
export function failure(error: unknown): Outcome {
  const after = error instanceof RetryAfterError ? Math.ceil(error.afterMs / 1_000) : null;
  return {
    kind: 'failed',
    error: messageOf(error),
    retryable: !(error instanceof NonRetryableError),
    details: detailsOf(error),
    cause: error,
    ...(after !== null && { retryAfterSecs: Math.min(after, RETRY_AFTER_MAX_SECS) }),
  };
}

export const permanentFailure = (message: string, cause?: unknown): Outcome => ({
  kind: 'failed',
  error: cut(message),
  retryable: false,
  ...(cause instanceof Error && { details: detailsOf(cause) }),
  cause,
});

export const retryableFailure = (message: string, cause?: unknown): Outcome => ({
  kind: 'failed',
  error: cut(message),
  retryable: true,
  ...(cause instanceof Error && { details: detailsOf(cause) }),
  cause,
});

const messageOf = (error: unknown): string => cut(thrownText(error));

function detailsOf(error: unknown): ErrorDetails {
  if (!(error instanceof Error)) return {};
  return { name: cut(error.name), ...(error.stack !== undefined && { stack: cut(error.stack) }) };
}

/** Never cuts a character in half. */
function cut(text: string): string {
  return text.length <= ERROR_MAX_LENGTH ? text : text.slice(0, ERROR_MAX_LENGTH).replace(/[\uD800-\uDBFF]$/, '');
}
