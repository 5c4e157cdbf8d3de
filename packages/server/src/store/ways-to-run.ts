import pg from 'pg';
import { pooledRun } from './pooled-query.js';
import { runPrepared } from './prepared-query.js';
import type { Settings } from './session.js';
import type { Statement } from './sql.js';

/** The ways to run a statement on a connection: prepared once, planned for its values, or through a pooler. */

/** Instants stay text: a Date would cut microseconds to milliseconds. json stays text: it is the caller's. */
const asText = (value: string): string => value;
const TIMESTAMPTZ = 1184;
const JSON_OID = 114;
const isKeptAsText = (oid: number): boolean => oid === TIMESTAMPTZ || oid === JSON_OID;
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    isKeptAsText(oid) ? asText : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

/** Runs one statement, which is a transaction, on a connection that was taken for it. */
export type RunOn = <R extends object>(
  client: pg.ClientBase,
  statement: Statement,
  values: readonly unknown[],
) => Promise<R[]>;

export const prepared: RunOn = (client, statement, values) => runPrepared(client, statement, values, TYPES);

/** Planned for its values. */
export const plainly: RunOn = async <R extends object>(
  client: pg.ClientBase,
  { text }: Statement,
  values: readonly unknown[],
) => (await client.query<R & pg.QueryResultRow>({ text, values: [...values] })).rows;

/** Behind a pooler, where the next statement may meet another server connection. */
export const passing = (settings: Settings): RunOn => {
  const run = pooledRun(settings);
  return async (client, { text }, values) => (await run<never>(client, { text, values: [...values] })).rows;
};
