import { readFileSync } from 'node:fs';
import pg from 'pg';
import { guardAnswers } from '../connection/answer-guard.js';
import { withDeadline } from '../connection/attempts.js';
import { readStatements } from '../sql-text.js';
import { outboxError } from './outbox-error.js';

/**
 * The database of an application, as a relay and the commands see it: a few connections, no setting of a session, no
 * prepared statement, and every statement a transaction of its own. So a pooler in transaction mode may be in between.
 */
const DEADLINE_MS = 15_000;
const CONNECT_MS = 5_000;

const statements = new Map(
  readStatements(readFileSync(new URL('../../../sql/outbox/queries.sql', import.meta.url), 'utf8')).map((statement) => [
    statement.name,
    statement,
  ]),
);

export type OutboxStatement =
  | 'claim'
  | 'batch'
  | 'entries'
  | 'delivered'
  | 'delivered_some'
  | 'release'
  | 'refuse'
  | 'see'
  | 'leave'
  | 'ring'
  | 'gauge'
  | 'relays'
  | 'refusals'
  | 'retry'
  | 'prune_refused'
  | 'prune_handled'
  | 'version';

type Value = string | number | boolean | null | readonly (string | null)[];
type Values = Readonly<Record<string, Value>>;

export class OutboxDatabase {
  readonly #pool: pg.Pool;
  readonly #url: string;

  constructor(url: string, maxConnections: number) {
    this.#url = url;
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: 'millrace-relay',
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_MS,
    });
    // An idle connection that breaks is replaced when the next one is needed.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => {
      // While it is in use, the statement that runs on it fails by itself.
      client.on('error', () => undefined);
      guardAnswers(client);
    });
  }

  /**
   * Runs a statement of sql/outbox/queries.sql.
   *
   * @throws OutboxError where it is known what is wrong
   */
  async run<R extends object>(name: OutboxStatement, values: Values = {}): Promise<R[]> {
    const { text, parameters } = statements.get(name)!;
    const sent = parameters.map((parameter) => {
      const value = values[parameter];
      if (value === undefined) throw new TypeError(`${name} needs ${parameter}`);
      return value;
    });
    try {
      const client = await this.#pool.connect();
      try {
        const { rows } = await withDeadline(client, DEADLINE_MS, client.query<R>(text, sent));
        client.release();
        return rows;
      } catch (error) {
        client.release(true);
        throw error;
      }
    } catch (error) {
      throw outboxError(error);
    }
  }

  /** A connection of its own, for LISTEN. */
  async openListener(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'millrace-relay',
      connectionTimeoutMillis: CONNECT_MS,
    });
    // Until somebody else listens, an error is that of the call it happens in.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }
}
