import type pg from 'pg';
import type { SentValue, Statement } from '../sql.js';

/**
 * A statement of the queue on a connection of our own: parsed and described once per connection, then only bound and
 * executed. The driver's own query asks for the columns every time, and builds a result, an emitter and a row parser
 * for what is mostly a single row: a third of what a statement costs this process.
 *
 * Invariant: we know the columns of a statement for as long as its name exists on the connection. PostgreSQL refuses to
 * execute a statement whose columns have changed since; `forgetStatements` then drops the names and the columns we
 * know.
 */
interface DriverConnection {
  readonly stream: { cork(): void; uncork(): void };
  readonly parsedStatements: Record<string, string | undefined>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: readonly SentValue[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: object): void;
  sync(): void;
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/** The parts of PostgreSQL's messages that the driver passes on. */
interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}
interface DataRow {
  readonly fields: readonly (string | null)[];
}

const columnsOf = new WeakMap<DriverConnection, Map<string, readonly Column[]>>();

class PreparedQuery {
  readonly name: string;
  readonly text: string;
  readonly #values: readonly SentValue[];
  readonly #rows: object[] = [];
  #known = new Map<string, readonly Column[]>();
  #columns: readonly Column[] = [];

  constructor(
    statement: Statement,
    private readonly types: pg.CustomTypesConfig,
    private readonly resolve: (rows: never[]) => void,
    private readonly reject: (error: Error) => void,
  ) {
    this.name = statement.name;
    this.text = statement.text;
    this.#values = statement.values;
  }

  submit(connection: DriverConnection): void {
    const { name, text } = this;
    const known = columnsOf.get(connection);
    if (known) this.#known = known;
    else columnsOf.set(connection, this.#known);
    const columns = this.#known.get(name);
    connection.stream.cork();
    try {
      if (connection.parsedStatements[name] === undefined && connection.submittedNamedStatements[name] === undefined) {
        connection.parse({ name, text });
        connection.submittedNamedStatements[name] = text;
      }
      connection.bind({ statement: name, values: this.#values });
      if (columns) this.#columns = columns;
      else connection.describe({ type: 'P', name: '' });
      connection.execute({});
      connection.sync();
    } finally {
      // A stream that stayed corked would accept statements and never send one.
      connection.stream.uncork();
    }
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: this.types.getTypeParser(dataTypeID, 'text') as Column['parse'],
    }));
    this.#known.set(this.name, this.#columns);
  }

  handleDataRow({ fields }: DataRow): void {
    const row: Record<string, unknown> = {};
    this.#columns.forEach(({ name, parse }, index) => {
      const text = fields[index] ?? null;
      row[name] = text === null ? null : parse(text);
    });
    this.#rows.push(row);
  }

  handleReadyForQuery(): void {
    this.resolve(this.#rows as never[]);
  }

  handleError(error: Error): void {
    this.reject(error);
  }

  handleCommandComplete(): void {
    // Only the rows matter.
  }

  handleEmptyQuery(): void {
    // An empty query has no rows.
  }
}

export function runPrepared<R extends object>(
  client: pg.ClientBase,
  statement: Statement,
  types: pg.CustomTypesConfig,
): Promise<R[]> {
  return new Promise<R[]>((resolve, reject) => {
    client.query(new PreparedQuery(statement, types, resolve, reject) as unknown as pg.Submittable);
  });
}

/**
 * Drops every statement prepared on this connection: a schema change affects every statement that uses the changed
 * tables.
 */
export async function forgetStatements(client: pg.ClientBase): Promise<void> {
  const { connection } = client as unknown as { readonly connection: DriverConnection };
  columnsOf.delete(connection);
  await client.query('DEALLOCATE ALL');
  for (const name of Object.keys(connection.parsedStatements)) delete connection.parsedStatements[name];
}
