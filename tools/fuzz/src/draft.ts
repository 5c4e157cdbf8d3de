import type { Operation } from './openapi.js';
import type { Tenant } from './tenants.js';

export type Header = readonly [name: string, value: string];

/** A request before it is encoded as bytes. */
export interface Draft {
  readonly method: string;
  readonly target: string;
  readonly version: '1.0' | '1.1';
  readonly headers: readonly Header[];
  readonly body: Buffer | null;
}

/** Who the request claims to be. */
export type Caller = Tenant | 'worker' | 'admin' | 'nobody';

export interface Case {
  readonly operation: Operation;
  readonly caller: Caller;
  /** What was done to it, such as `json.nest`; `none` for a valid request. */
  readonly kind: string;
  readonly draft: Draft;
  /** The bytes, if they are not simply the encoded draft: broken framing. */
  readonly raw?: Buffer;
  /** The only acceptable statuses, where the mutation leaves no doubt. */
  readonly onlyStatuses?: readonly number[];
  /** Whether the request still reaches the operation, so that its schemas and documented statuses apply. */
  readonly isRouted: boolean;
}

/** The draft as bytes. Header text beyond ASCII is sent as Latin-1, one byte per character. */
export function encode({ method, target, version, headers, body }: Draft): Buffer {
  const lines = [`${method} ${target} HTTP/${version}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  if (body !== null && !hasHeader(headers, 'content-length') && !hasHeader(headers, 'transfer-encoding')) {
    lines.push(`Content-Length: ${body.length}`);
  }
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return body === null ? head : Buffer.concat([head, body]);
}

export const hasHeader = (headers: readonly Header[], name: string): boolean =>
  headers.some(([header]) => header.toLowerCase() === name);

export const withHeader = (draft: Draft, name: string, value: string): Draft => ({
  ...draft,
  headers: [...withoutHeader(draft, name).headers, [name, value]],
});

export const withoutHeader = (draft: Draft, name: string): Draft => ({
  ...draft,
  headers: draft.headers.filter(([header]) => header.toLowerCase() !== name.toLowerCase()),
});

/** Adds a header, even if it is there already. */
export const withExtraHeader = (draft: Draft, name: string, value: string): Draft => ({
  ...draft,
  headers: [...draft.headers, [name, value]],
});
