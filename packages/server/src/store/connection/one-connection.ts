import pg from 'pg';
import { translateAtStart } from '../failures.js';
import type { Statement } from '../sql.js';

const CONNECT_MS = 5_000;

export interface ConnectionOptions {
  readonly url: string;
  /** What PostgreSQL lists it as. */
  readonly name: string;
  /** How long to wait for it. */
  readonly connectMs?: number;
  /** Of whatever is thrown. */
  readonly translate?: (error: unknown) => unknown;
}

/** A connection of its own, outside the pools, for a command or a start: closed when `work` is done. */
export async function onConnection<T>(
  { url, name, connectMs = CONNECT_MS, translate = translateAtStart }: ConnectionOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: name, connectionTimeoutMillis: connectMs });
  // It may be lost between two statements. Then the next one fails, and says so; without this the process would end.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw translate(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** What a statement finds on such a connection. */
export async function rowsOf<R extends object>(client: pg.Client, { text, values }: Statement): Promise<R[]> {
  return (await client.query<R & pg.QueryResultRow>(text, [...values])).rows;
}
