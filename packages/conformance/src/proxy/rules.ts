import type { Call, Item } from './calls.js';

/** What the proxy does with a call instead of passing it on. */
export type Action =
  /** Answers by itself; the server never hears of it. */
  | { readonly do: 'answer'; readonly status: number; readonly retryAfterSecs?: number }
  /** Closes the connection; the server never hears of it. */
  | { readonly do: 'drop' }
  /** Lets the server act, then closes the connection instead of answering. */
  | { readonly do: 'swallow' }
  /** Neither passes it on nor answers it. */
  | { readonly do: 'ignore' }
  /** Answers for the chosen jobs by itself and passes the rest of the call on. */
  | { readonly do: 'refuse'; readonly status: RefusalStatus; readonly items: (item: Item) => boolean };

export type RefusalStatus = 400 | 404 | 409 | 413;

/** Looked at for every call, in the order in which they were added; the first action counts. */
export type Rule = (call: Call) => Action | undefined;

const CODES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'unauthorized',
  404: 'not_found',
  409: 'lease_lost',
  413: 'payload_too_large',
  503: 'unavailable',
};

export const codeOf = (status: number): string => CODES[status] ?? 'internal';

/** An error body as the service writes it. */
export const errorBody = (status: number): string =>
  JSON.stringify({
    error: `${codeOf(status)}, says the conformance kit`,
    code: codeOf(status),
    timestamp: new Date().toISOString(),
  });

/** Applies an action to the first `count` calls that match. */
export function first(count: number, matches: (call: Call) => boolean, action: Action): Rule {
  let left = count;
  return (call) => (left > 0 && matches(call) && left-- > 0 ? action : undefined);
}
