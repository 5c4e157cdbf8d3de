/* eslint-disable @typescript-eslint/no-explicit-any --
   the parameters of these methods are typed differently by each driver, and by each version of it */

/**
 * A transaction of the application's, in whichever driver it has: seen by its shape alone, so that none of them has to
 * be installed. What is run in it commits or rolls back with the rest.
 */
export type Transaction =
  PgTransaction | PostgresTransaction | KyselyTransaction | DrizzleTransaction | KnexTransaction | PrismaTransaction;

/** A client of `pg` on which BEGIN was run; an EntityManager or QueryRunner of TypeORM. */
export interface PgTransaction {
  query(text: string, values: any[]): Promise<any>;
}
/** The `sql` that `sql.begin` of postgres.js hands to its function. */
export interface PostgresTransaction {
  unsafe(text: string, values: any[]): PromiseLike<any>;
}
/** The `trx` of Kysely. */
export interface KyselyTransaction {
  executeQuery(query: any): Promise<{ rows: any[] }>;
}
/** The `tx` of Drizzle. */
export interface DrizzleTransaction {
  execute(query: any): PromiseLike<any>;
}
/** The `trx` of Knex. */
export interface KnexTransaction {
  raw(text: string, bindings: any): PromiseLike<any>;
}
/** The `tx` of an interactive transaction of Prisma. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: any[]): PromiseLike<any>;
}

type Value = string | null;
type Row = Readonly<Record<string, unknown>>;

/**
 * Runs a statement in the transaction and returns its first row. Parameters are texts, numbered in the order in which
 * they are used, each once: `SELECT f($1::text::json)`.
 */
export async function runIn(tx: Transaction, text: string, values: readonly Value[]): Promise<Row> {
  const result: unknown = await send(tx, text, [...values]);
  const rows = (Array.isArray(result) ? result : (result as { rows?: unknown } | null)?.rows) as Row[] | undefined;
  const row = rows?.[0];
  if (row === undefined) throw new TypeError('the transaction returned no row; is it one of a driver that is known?');
  return row;
}

type AllDrivers = PgTransaction &
  PostgresTransaction &
  KyselyTransaction &
  DrizzleTransaction &
  KnexTransaction &
  PrismaTransaction;

/** Drivers are told apart by methods that none of the others has; `query` and `execute` come last. */
function send(tx: Partial<AllDrivers>, text: string, values: Value[]): PromiseLike<unknown> {
  if (typeof tx.$queryRawUnsafe === 'function') return tx.$queryRawUnsafe(text, ...values);
  if (typeof tx.unsafe === 'function') return tx.unsafe(text, values);
  if (typeof tx.executeQuery === 'function') return tx.executeQuery(compiledQuery(text, values));
  if (typeof tx.raw === 'function') return tx.raw(text.replaceAll(/\$\d+/g, '?'), values);
  if (typeof tx.query === 'function') return tx.query(text, values);
  if (typeof tx.execute === 'function') return tx.execute(writtenSql(text, values));
  throw new TypeError(
    'not a transaction of pg, postgres.js, Kysely, Drizzle, Knex, Prisma or TypeORM; ' +
      'with another driver, SELECT millrace_outbox.enqueue(…) yourself',
  );
}

/** What Kysely's `CompiledQuery.raw` makes. */
const compiledQuery = (sql: string, parameters: readonly Value[]): object => ({
  sql,
  parameters,
  query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
  queryId: { queryId: 'millrace_outbox' },
});

/** What Drizzle asks of a piece of SQL before it sends it. */
function writtenSql(sql: string, params: readonly Value[]): object {
  const written = { getSQL: () => written, toQuery: () => ({ sql, params }) };
  return written;
}
