import pg from 'pg';
import type { Logger } from 'pino';
import { breaksConnection, DeadlineExceeded, isCollision, isOutage, translate } from './failures.js';
import { withSettings } from './session.js';
import type { Statement } from './sql.js';

/**
 * Two pools on one database, because they want opposite things of the planner.
 *
 * hot    the short statements of the queue, prepared once a connection, under one generic plan: planning anew costs more than running. The
 *        plan may have been made while the tables were empty, so what would be wise then and ruinous later is switched off here, and
 *        the statements are written so that the right plan is the only one left (see the head of sql/queries/lease.sql).
 * reads  lists and counts, planned for their actual filters. Without hash joins: those have no order, so a page of a list that is filtered
 *        through two tables would be sorted out of all that matches instead of being walked to its end.
 *
 * Invariants: every statement has a deadline on this side of the wire, so a database that stops answering can't hold a request;
 * a connection that missed its deadline is destroyed, never reused; a collision (deadlock, serialization) is repeated
 * here, since every statement of the hot path is a transaction of its own.
 */
export interface DatabaseOptions {
  readonly url: string;
  /** All connections of this process together, the listening one included. */
  readonly maxConnections: number;
  readonly logger: Logger;
}

export type Row = Record<string, unknown>;
export type Run = <R extends object = Row>(statement: Statement, values?: readonly unknown[]) => Promise<R[]>;

const CONNECT_MS = 5_000;
const HOT_DEADLINE_MS = 10_000;
const READ_DEADLINE_MS = 20_000;
const COLLISION_TRIES = 10;

const COMMON_SETTINGS = [
  'TimeZone=UTC',
  'DateStyle=ISO',
  'default_transaction_isolation=read\\ committed',
  'jit=off',
  'idle_in_transaction_session_timeout=30000',
  'lock_timeout=0',
  'standard_conforming_strings=on',
];
const HOT_SETTINGS = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_nestloop=off',
  'enable_mergejoin=off',
  'enable_bitmapscan=off',
  'max_parallel_workers_per_gather=0',
  `statement_timeout=${HOT_DEADLINE_MS}`,
];
const READ_SETTINGS = [
  `statement_timeout=${READ_DEADLINE_MS}`,
  'max_parallel_workers_per_gather=0',
  'enable_hashjoin=off',
];

/** Instants stay text: a Date would cut PostgreSQL's microseconds to milliseconds. json stays text: it is the caller's. */
const asText = (value: string): string => value;
const TIMESTAMPTZ = 1184;
const JSON_OID = 114;
const isKeptAsText = (oid: number): boolean => oid === TIMESTAMPTZ || oid === JSON_OID;
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    isKeptAsText(oid) ? asText : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

export class Database {
  readonly #hot: pg.Pool;
  readonly #reads: pg.Pool;
  readonly #listenConfig: pg.ClientConfig;
  #away = false;

  constructor(private readonly options: DatabaseOptions) {
    // One connection listens; of the rest, the queue's own statements get the larger part.
    const shared = Math.max(2, options.maxConnections - 1);
    const hot = Math.max(1, Math.ceil(shared * 0.6));
    this.#hot = this.#pool(hot, HOT_SETTINGS);
    this.#reads = this.#pool(Math.max(1, shared - hot), READ_SETTINGS);
    this.#listenConfig = this.#connection([]);
  }

  /** A statement of the queue, in a transaction of its own. */
  readonly run: Run = (statement, values = []) =>
    this.#attempt(this.#hot, HOT_DEADLINE_MS, prepared(statement, values));

  /** A read with its own plan. */
  readonly read: Run = (statement, values = []) =>
    this.#attempt(this.#reads, READ_DEADLINE_MS, { text: statement.text, values: [...values] });

  /** Several statements of the queue in one transaction. The body may run more than once: it must have no effect but through `run`. */
  async transaction<T>(body: (run: Run) => Promise<T>): Promise<T> {
    return this.#retrying(() => this.#transactionOnce(body));
  }

  /** A connection of its own, outside both pools, for LISTEN. */
  async openListener(): Promise<pg.Client> {
    const client = new pg.Client(this.#listenConfig);
    try {
      await client.connect();
    } catch (error) {
      throw translate(error);
    }
    return client;
  }

  connections(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    const pools = [this.#hot, this.#reads];
    const sum = (count: (pool: pg.Pool) => number) => pools.reduce((n, pool) => n + count(pool), 0);
    return { total: sum((p) => p.totalCount), idle: sum((p) => p.idleCount), waiting: sum((p) => p.waitingCount) };
  }

  async close(): Promise<void> {
    await Promise.all([this.#hot.end(), this.#reads.end()]);
  }

  #connection(settings: readonly string[]): pg.PoolConfig {
    return {
      ...withSettings(this.options.url, [...COMMON_SETTINGS, ...settings]),
      application_name: 'millrace',
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      types: TYPES,
    };
  }

  #pool(max: number, settings: readonly string[]): pg.Pool {
    const pool = new pg.Pool({ ...this.#connection(settings), max, idleTimeoutMillis: 60_000 });
    // Without these listeners the process would die with any of its connections. An idle one that is lost is replaced at the next use;
    // one in use fails its statement, which says all there is to say.
    pool.on('error', (error) => this.options.logger.debug({ err: error }, 'an idle database connection was lost'));
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  }

  #attempt<R extends object>(pool: pg.Pool, deadlineMs: number, query: pg.QueryConfig): Promise<R[]> {
    return this.#retrying(async () => {
      const client = await pool.connect();
      try {
        const rows = await withDeadline<R>(client, query, deadlineMs);
        client.release();
        return rows;
      } catch (error) {
        client.release(breaksConnection(error));
        throw error;
      }
    });
  }

  async #transactionOnce<T>(body: (run: Run) => Promise<T>): Promise<T> {
    const client = await this.#hot.connect();
    const run: Run = (statement, values = []) => withDeadline(client, prepared(statement, values), HOT_DEADLINE_MS);
    try {
      await withDeadline(client, { text: 'BEGIN' }, HOT_DEADLINE_MS);
      const result = await body(run);
      await withDeadline(client, { text: 'COMMIT' }, HOT_DEADLINE_MS);
      client.release();
      return result;
    } catch (error) {
      const rolledBack = !breaksConnection(error) && (await rollback(client));
      client.release(!rolledBack);
      throw error;
    }
  }

  /** An outage makes one line when it begins and one when it ends, however many statements fail in between. */
  #note(outage: unknown): void {
    if (outage !== null && !this.#away) {
      this.#away = true;
      this.options.logger.warn({ err: outage }, 'the database is out of reach');
    } else if (outage === null && this.#away) {
      this.#away = false;
      this.options.logger.info('the database answers again');
    }
  }

  async #retrying<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        const result = await work();
        this.#note(null);
        return result;
      } catch (error) {
        if (isCollision(error) && tries < COLLISION_TRIES) continue;
        if (isOutage(error)) this.#note(error);
        throw translate(error);
      }
    }
  }
}

function prepared(statement: Statement, values: readonly unknown[]): pg.QueryConfig {
  return { name: statement.name, text: statement.text, values: [...values] };
}

async function rollback(client: pg.PoolClient): Promise<boolean> {
  try {
    await withDeadline(client, { text: 'ROLLBACK' }, HOT_DEADLINE_MS);
    return true;
  } catch {
    return false;
  }
}

async function withDeadline<R extends object>(client: pg.PoolClient, query: pg.QueryConfig, ms: number): Promise<R[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      // The server may be gone without a word: end the socket ourselves, or it would wait for an answer for ever.
      (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
      reject(new DeadlineExceeded(`no answer from the database within ${ms} ms`));
    }, ms);
  });
  try {
    const result = await Promise.race([client.query<R>(query), late]);
    return result.rows;
  } finally {
    clearTimeout(timer);
  }
}
