import pg from 'pg';
import { pooledRun } from './pooled-query.js';
import { runPrepared } from './prepared-query.js';
import type { SessionSettings } from './session.js';
import type { Statement } from '../sql.js';

/**
 * The ways to run a statement on a connection: prepared once, planned for its values, under settings of its own, or
 * through a pooler.
 */

/**
 * Instants stay text because a Date would truncate microseconds to milliseconds. JSON stays text because it is the
 * caller's.
 */
const asText = (value: string): string => value;
const TIMESTAMPTZ = 1184;
const JSON_OID = 114;
const isKeptAsText = (oid: number): boolean => oid === TIMESTAMPTZ || oid === JSON_OID;
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    isKeptAsText(oid) ? asText : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

/** Runs one statement on a connection checked out for it; outside BEGIN, the statement is a transaction of its own. */
export type RunStatement = <R extends object>(client: pg.ClientBase, statement: Statement) => Promise<R[]>;

export const prepared: RunStatement = (client, statement) => runPrepared(client, statement, TYPES);

/** Planned for its values. */
export const plainly: RunStatement = async <R extends object>(client: pg.ClientBase, { text, values }: Statement) =>
  (await client.query<R & pg.QueryResultRow>({ text, values: [...values] })).rows;

/** Sends its settings along, for use behind a pooler, where the next statement may get another server connection. */
export const passing = (settings: SessionSettings): RunStatement => {
  const run = pooledRun(settings);
  return async (client, { text, values }) => (await run<never>(client, { text, values: [...values] })).rows;
};

/** Prepared once, and run under these settings on top of the connection's. */
export const preparedUnder = (settings: SessionSettings): RunStatement => {
  const run = pooledRun(settings);
  return async (client, { name, text, values }) => (await run<never>(client, { name, text, values: [...values] })).rows;
};
