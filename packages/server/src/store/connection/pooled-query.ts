import pg from 'pg';
import { settingStatement, type SessionSettings } from './session.js';

/**
 * A statement as we send it through a pooler in transaction mode: its settings, then the statement, then one Sync.
 * Everything up to a Sync is one transaction for PostgreSQL, and one unit for the pooler, which passes all of it to the
 * same server connection. So the settings apply to this statement and nothing after it, without BEGIN and COMMIT, in
 * one round trip. PostgreSQL plans a statement when its values are bound, which is after the settings have been
 * applied. Statements are unnamed: a name exists on one server connection only, and the next statement may get another
 * one.
 */
interface DriverConnection {
  parse(message: { text: string }): void;
  bind(message: object): void;
  execute(message: object): void;
}

interface DriverQuery extends pg.Submittable {
  callback: (error: Error | null | undefined, result: pg.QueryResult) => void;
  prepare(connection: DriverConnection): void;
  handleCommandComplete(message: unknown, connection: DriverConnection): void;
}

/** The driver's own query class; its types declare only part of it. */
const DriverQuery = pg.Query as unknown as new (config: pg.QueryConfig & { queryMode: 'extended' }) => DriverQuery;

class PooledQuery extends DriverQuery {
  #hasSettings = false;

  constructor(
    config: pg.QueryConfig,
    private readonly settings: string,
  ) {
    super({ ...config, queryMode: 'extended' });
  }

  override prepare(connection: DriverConnection): void {
    connection.parse({ text: this.settings });
    connection.bind({});
    connection.execute({});
    super.prepare(connection);
  }

  /** The first of the two completions belongs to the settings. */
  override handleCommandComplete(message: unknown, connection: DriverConnection): void {
    if (this.#hasSettings) super.handleCommandComplete(message, connection);
    else this.#hasSettings = true;
  }
}

export type PooledRun = <R extends object>(client: pg.ClientBase, config: pg.QueryConfig) => Promise<pg.QueryResult<R>>;

export function pooledRun(settings: SessionSettings): PooledRun {
  const text = settingStatement(settings);
  return (client, config) =>
    new Promise((resolve, reject) => {
      const query = new PooledQuery(config, text);
      query.callback = (error, result) => (error ? reject(error) : resolve(result as never));
      client.query(query);
    });
}
