import { Millrace, type Logger, type Raw } from '@millrace/sdk';
import type { Context } from '../invocation/context.js';
import { painter, type Paint } from '../terminal/style.js';
import { plain } from '../terminal/width.js';
import { RecentIds } from './recent-ids.js';
import { targetOf, type Target } from './target.js';

/** A server, and what a command about it needs. */
export interface Connection {
  readonly raw: Raw;
  readonly millrace: Millrace;
  readonly target: Target;
  readonly recent: RecentIds;
  /** How tables and fields are to look here. */
  readonly look: { readonly columns: number; readonly paint: Paint };
}

/** Fewer than programs make: a person would rather know soon that nobody answers. */
const ATTEMPTS = 3;

export type Caller = Pick<Context, 'connection' | 'env' | 'io'>;

/** @param as whose token is used: a tenant's unless said otherwise */
export function connect({ connection, env, io }: Caller, as: 'token' | 'adminToken' = 'token'): Connection {
  const target = targetOf(connection, env);
  const millrace = new Millrace({
    url: target.url.value,
    token: target[as].value,
    attempts: ATTEMPTS,
    logger: complaints(io),
  });
  return {
    millrace,
    raw: millrace.raw,
    target,
    recent: new RecentIds(env, target.url.value),
    look: { columns: io.terminal.stdout ? io.terminal.columns() : Infinity, paint: painter(io, env) },
  };
}

/** Warnings of the server. */
function complaints(io: Caller['io']): Logger {
  const write = (message: string): void => io.complain(`millrace: ${plain(message)}\n`);
  return { debug: () => undefined, info: () => undefined, warn: write, error: write };
}
