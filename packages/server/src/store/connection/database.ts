import pg from 'pg';
import type { Logger } from 'pino';
import type { BucketRange } from '../../domain/cells.js';
import { guardAnswers } from './answer-guard.js';
import { Coalescer } from '../turns/coalescer.js';
import { RANGE, wrongCell, type RangeRow } from './cell-check.js';
import { againWhileStale, rollback, withDeadline } from './attempts.js';
import { breaksConnection, isBusy, isCollision, isOutage, translate } from '../failures.js';
import type { TenantRead } from '../lists/list-statements.js';
import { ReadPace, type ReadKind } from '../turns/read-pace.js';
import { ReadTurns } from '../turns/read-turns.js';
import {
  beginWith,
  BOUNDED_SETTINGS,
  COMMON_SETTINGS,
  DEADLINES,
  HOT_SETTINGS,
  PLANNED_SETTINGS,
  READ_SETTINGS,
  within,
  withSettings,
  type Deadlines,
  type SessionSettings,
} from './session.js';
import { textLength } from '../rows.js';
import type { Statement } from '../sql.js';
import { passing, plainly, prepared, preparedUnder, TYPES, type RunStatement } from './statement-runners.js';

/**
 * Two pools on one database, because they need opposite things from the planner.
 *
 * hot    the short statements of the queue, prepared once per connection, under one generic plan: planning them each
 *        time would cost more than running them. The plan may be made while the tables are empty, so plan types that
 *        suit empty tables and ruin full ones are switched off here, and the statements are written so that only the
 *        right plan remains (see sql/queries/README.md).
 * reads  lists and counts for tenants, planned for their actual filters. Hash joins are off because they lose the
 *        order: a page of a list filtered through two tables would have to sort every match, instead of walking an
 *        index to the end of the page. Tenants take turns (read-turns.ts); the queue's own work never waits here.
 *
 * Behind a pooler in transaction mode a connection keeps no state: each transaction sends its settings along, and
 * nothing is prepared.
 *
 * Invariants: every statement has a deadline on this side of the wire, so a database that stops answering cannot block
 * a request; a connection that misses its deadline is destroyed, never reused; a statement that collides (deadlock,
 * serialization) or that a schema change has made stale is repeated here, which is safe because every statement of the
 * hot path is a transaction of its own.
 */
export interface DatabaseOptions {
  readonly url: string;
  /** The total for this process, including the connection that listens. */
  readonly maxConnections: number;
  readonly logger: Logger;
  readonly pooler?: Pooler;
  /** Bypasses the pooler, for LISTEN, which needs a connection of its own. */
  readonly directUrl?: string | null;
  /** Called at each statement that fails because the database is out of reach. */
  readonly onOutage?: () => void;
  /** Others than those of the service. */
  readonly deadlines?: Deadlines | undefined;
}

/**
 * What is between us and PostgreSQL: `transaction` is a pooler that lends a server connection for one transaction at a
 * time.
 */
export type Pooler = 'none' | 'transaction';
export type Row = Record<string, unknown>;
export type Execute = <R extends object = Row>(statement: Statement) => Promise<R[]>;

const COLLISION_TRIES = 10;
const BUSY_NOTE_MS = 10_000;

export class Database {
  readonly #hot: pg.Pool;
  readonly #reads: pg.Pool;
  readonly #listenUrl: string | null;
  readonly #pooled: boolean;
  readonly deadlines: Deadlines;
  /** Of connections for the queue. */
  readonly #settings: SessionSettings;
  readonly #runHot: RunStatement;
  readonly #runRead: RunStatement;
  readonly #runBounded: RunStatement;
  readonly #runPlanned: RunStatement;
  readonly #pace = new ReadPace();
  readonly #turns: ReadTurns;
  readonly #coalescer: Coalescer;
  #away = false;
  #toldBusyAt = -Infinity;
  #expected: BucketRange | null = null;

  constructor(private readonly options: DatabaseOptions) {
    const { url, pooler = 'none', directUrl = null } = options;
    this.#pooled = pooler === 'transaction';
    this.#listenUrl = this.#pooled ? directUrl : url;
    this.deadlines = options.deadlines ?? DEADLINES;
    const { hotTimeoutMs, readTimeoutMs, turnMs } = this.deadlines;
    this.#coalescer = new Coalescer((count) => this.#pace.restMs(count), turnMs);
    const reading = within(readTimeoutMs, READ_SETTINGS);
    this.#settings = within(hotTimeoutMs, HOT_SETTINGS);
    this.#runHot = this.#pooled ? passing(this.#settings) : prepared;
    this.#runPlanned = passing(within(hotTimeoutMs, PLANNED_SETTINGS));
    this.#runRead = this.#pooled ? passing(reading) : plainly;
    this.#runBounded = this.#pooled ? passing([...reading, ...BOUNDED_SETTINGS]) : preparedUnder(BOUNDED_SETTINGS);
    // One connection listens; the queue's own statements get the larger part of the rest.
    const shared = Math.max(2, options.maxConnections - (this.canListen ? 1 : 0));
    const hot = Math.min(shared - 1, Math.ceil(shared * 0.6));
    this.#hot = this.#pool(hot, this.#settings);
    this.#reads = this.#pool(shared - hot, reading);
    this.#turns = new ReadTurns({ slots: shared - hot, pace: this.#pace, waitMs: turnMs });
  }

  /** A statement of the queue, in a transaction of its own. */
  readonly run: Execute = (statement) => this.#attempt(this.#hot, this.deadlines.hotMs, this.#runHot, statement);

  /** A statement of the queue that is planned each time: a sweep, which may find nothing or a whole table. */
  readonly runPlanned: Execute = (statement) =>
    this.#attempt(this.#hot, this.deadlines.hotMs, this.#runPlanned, statement);

  /** A page for a tenant, with its own plan. */
  readonly read = <R extends object = Row>(query: TenantRead): Promise<R[]> =>
    this.#readInTurn('page', query, (ms, rows) => this.#pace.pageTook(query.tenant, ms, textLength(rows)));

  /** A count for a tenant: as exact as a page, but the same count never runs twice at once (coalescer.ts). */
  readonly count = <R extends object = Row>(query: TenantRead): Promise<R[]> => {
    const question = JSON.stringify([query.statement.text, query.statement.values]);
    const took = (ms: number): void => this.#pace.countTook(query.tenant, question, ms);
    return this.#coalescer.ask(question, () => this.#readInTurn('count', query, took));
  };

  /**
   * Several statements of the queue in one transaction. The body may run more than once, so it must have no effects
   * except through `execute`.
   */
  async transaction<T>(body: (execute: Execute) => Promise<T>): Promise<T> {
    return this.#retrying('transaction', () => this.#transactionOnce(body));
  }

  /**
   * From now on each new connection first makes sure that the database serves these tenants and no others. Whoever
   * hands tenants over ends the connections that there are: so nothing of a process that has not heard gets through.
   */
  expectRange(range: BucketRange): void {
    this.#expected = range;
  }

  get pooler(): Pooler {
    return this.options.pooler ?? 'none';
  }

  /** False behind a pooler if there is no direct URL. */
  get canListen(): boolean {
    return this.#listenUrl !== null;
  }

  /** Opens a dedicated connection for LISTEN, outside both pools. */
  async openListener(): Promise<pg.Client> {
    if (this.#listenUrl === null) throw new Error('behind a pooler, listening needs a direct database URL');
    const client = new pg.Client(this.#connection(withSettings(this.#listenUrl, COMMON_SETTINGS)));
    // From the beginning: it may be lost before whoever wants it has it. Then its next statement fails, and says so.
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch (error) {
      throw translate(error);
    }
    guardAnswers(client);
    return client;
  }

  connections(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    const pools = [this.#hot, this.#reads];
    const sum = (count: (pool: pg.Pool) => number) => pools.reduce((n, pool) => n + count(pool), 0);
    const waitingReads = this.#turns.waiting;
    return {
      total: sum((p) => p.totalCount),
      idle: sum((p) => p.idleCount),
      waiting: waitingReads + sum((p) => p.waitingCount),
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#hot.end(), this.#reads.end()]);
  }

  #connection(address: pg.ClientConfig): pg.PoolConfig {
    return {
      ...address,
      application_name: 'millrace',
      connectionTimeoutMillis: this.deadlines.connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      types: TYPES,
    };
  }

  #pool(max: number, settings: SessionSettings): pg.Pool {
    const { url } = this.options;
    const address = this.#pooled ? { connectionString: url } : withSettings(url, settings);
    // The pool waits for the check, though its types do not say so.
    // eslint-disable-next-line @typescript-eslint/no-misused-promises
    const pool = new pg.Pool({ ...this.#connection(address), max, idleTimeoutMillis: 60_000, onConnect: this.#check });
    // Without these listeners, losing any connection would end the process. A lost idle connection is replaced at the
    // next use; a connection lost while in use fails its statement, and that error is reported.
    pool.on('error', (error) => this.options.logger.debug({ err: error }, 'an idle database connection was lost'));
    pool.on('connect', (client) => {
      client.on('error', () => undefined);
      guardAnswers(client);
    });
    return pool;
  }

  /**
   * Not by `verify` of the pool: whoever gave up waiting while it runs would never release the connection.
   */
  readonly #check = async (client: pg.ClientBase): Promise<void> => {
    const expected = this.#expected;
    if (expected === null) return;
    const { rows } = await withDeadline(client, this.deadlines.hotMs, client.query<RangeRow>(RANGE));
    const wrong = wrongCell(rows[0], expected);
    if (wrong !== null) throw wrong;
  };

  /** `took` is told how long it took, once it was its turn. */
  async #readInTurn<R extends object>(
    kind: ReadKind,
    { tenant, statement, isBounded }: TenantRead,
    took: (ms: number, rows: readonly R[]) => void,
  ): Promise<R[]> {
    const endTurn = await this.#turns.take(tenant, kind).catch((error: unknown) => {
      this.#noteBusy(statement.name, error);
      throw error;
    });
    const startedAt = performance.now();
    try {
      const execute = isBounded ? this.#runBounded : this.#runRead;
      const rows = await this.#attempt<R>(this.#reads, this.deadlines.readMs, execute, statement);
      took(performance.now() - startedAt, rows);
      return rows;
    } finally {
      endTurn();
    }
  }

  #attempt<R extends object>(
    pool: pg.Pool,
    deadlineMs: number,
    execute: RunStatement,
    statement: Statement,
  ): Promise<R[]> {
    return this.#retrying(statement.name, async () => {
      const client = await pool.connect();
      try {
        const rows = await againWhileStale(client, this.deadlines.hotMs, () =>
          withDeadline(client, deadlineMs, execute<R>(client, statement)),
        );
        client.release();
        return rows;
      } catch (error) {
        client.release(breaksConnection(error));
        throw error;
      }
    });
  }

  async #transactionOnce<T>(body: (execute: Execute) => Promise<T>): Promise<T> {
    const client = await this.#hot.connect();
    let isClean = true;
    try {
      const result = await againWhileStale(client, this.deadlines.hotMs, async () => {
        try {
          return await this.#transactionOn(client, body);
        } catch (error) {
          isClean = !breaksConnection(error) && (await rollback(client, this.deadlines.hotMs));
          throw error;
        }
      });
      client.release();
      return result;
    } catch (error) {
      client.release(!isClean || breaksConnection(error));
      throw error;
    }
  }

  async #transactionOn<T>(client: pg.PoolClient, body: (execute: Execute) => Promise<T>): Promise<T> {
    // Behind a pooler, BEGIN has already applied the settings.
    const execute = this.#pooled ? plainly : prepared;
    const command = (text: string): Promise<unknown> => withDeadline(client, this.deadlines.hotMs, client.query(text));
    await command(this.#pooled ? beginWith(this.#settings) : 'BEGIN');
    const result = await body((statement) => withDeadline(client, this.deadlines.hotMs, execute(client, statement)));
    await command('COMMIT');
    return result;
  }

  /** An outage is logged once when it begins and once when it ends, however many statements fail in between. */
  #note(outage: unknown): void {
    if (outage !== null && !this.#away) {
      this.#away = true;
      this.options.logger.warn({ err: outage }, 'the database is out of reach');
    } else if (outage === null && this.#away) {
      this.#away = false;
      this.options.logger.info('the database answers again');
    }
  }

  /** The database answers, but a statement was refused or cancelled: no outage, but worth a log line now and then. */
  #noteBusy(statement: string, error: unknown): void {
    if (performance.now() - this.#toldBusyAt < BUSY_NOTE_MS) return;
    this.#toldBusyAt = performance.now();
    this.options.logger.warn({ err: error, statement }, 'the database is busy: a statement took or waited too long');
  }

  async #retrying<T>(name: string, work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        const result = await work();
        this.#note(null);
        return result;
      } catch (error) {
        if (isCollision(error) && tries < COLLISION_TRIES) continue;
        if (isOutage(error)) {
          this.#note(error);
          this.options.onOutage?.();
        } else if (isBusy(error)) this.#noteBusy(name, error);
        throw translate(error);
      }
    }
  }
}
