import { Millrace, type Logger, type Raw } from '@millrace/sdk';
import type { Context } from '../invocation/context.js';
import { painter, type Paint } from '../terminal/style.js';
import { plain, plainJson } from '../terminal/plain.js';
import { RecentIds } from './recent-ids.js';
import { targetOf, type Target } from './target.js';

/** A server, and what a command about it needs. */
export interface Connection {
  /** On a terminal, the JSON that it answers with is safe to show. */
  readonly raw: Pick<Raw, 'call' | 'follow'>;
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
    raw: io.terminal.stdout ? safeToShow(millrace.raw) : millrace.raw,
    target,
    recent: new RecentIds(env, target.url.value),
    look: { columns: io.terminal.stdout ? io.terminal.columns() : Infinity, paint: painter(io, env) },
  };
}

/** Escapes what would act on a terminal; the values stay the same. A program gets the original. */
function safeToShow(raw: Raw): Connection['raw'] {
  return {
    call: async (path, request) => {
      const answer = await raw.call<never>(path, request);
      return { ...answer, text: plainJson(answer.text) };
    },
    follow: async function* (...args: Parameters<Raw['follow']>) {
      for await (const event of raw.follow(...args)) yield { ...event, data: plainJson(event.data) };
    },
  };
}

/** Warnings of the server. */
function complaints(io: Caller['io']): Logger {
  const write = (message: string): void => io.complain(`millrace: ${plain(message)}\n`);
  return { debug: () => undefined, info: () => undefined, warn: write, error: write };
}
