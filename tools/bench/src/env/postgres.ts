import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createLogger, migrate, startEmbedded } from '../product.js';

/**
 * The PostgreSQL of a run: the embedded binaries in a directory of their own, durable as in production, one set of settings for all.
 * Each contender gets a fresh database in it, so none inherits another's tables, statistics or bloat.
 */
const SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  shared_buffers: '512MB',
  // Large enough that no contender pays for a checkpoint that another one's writes brought about.
  max_wal_size: '16GB',
  checkpoint_timeout: '1h',
};

const TEMPLATE = 'millrace_template';

export interface BenchDatabase {
  readonly name: string;
  readonly url: string;
  query<R extends pg.QueryResultRow = Record<string, never>>(text: string, values?: unknown[]): Promise<R[]>;
  /** A connection that stays open, for whoever needs a session. */
  connect(): Promise<pg.Client>;
  drop(): Promise<void>;
}

export interface WalSpan {
  readonly bytes: number;
  readonly fullPageBytes: number;
}

export class Postgres {
  #databases = 0;

  private constructor(
    private readonly admin: pg.Client,
    private readonly adminUrl: string,
    private readonly shutdown: () => Promise<void>,
    readonly pid: number,
    readonly version: string,
    readonly settings: Readonly<Record<string, string>>,
  ) {}

  static async start(): Promise<Postgres> {
    const dir = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
    const log = createLogger({ level: 'warn', format: 'json' });
    const embedded = await startEmbedded({ dir, log, settings: SETTINGS });
    // After a signal there is no time to wait for the server, which is asked to stop; its data are worth nothing.
    const remove = (): void => rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    process.once('exit', remove);
    const admin = new pg.Client({ connectionString: embedded.url, application_name: 'bench' });
    await admin.connect();
    const stop = async (): Promise<void> => {
      await admin.end();
      await embedded.stop();
      process.off('exit', remove);
      remove();
    };
    const { rows } = await admin.query<{ version: string }>(`SELECT current_setting('server_version') AS version`);
    const pid = Number(readFileSync(join(dir, 'pgdata', 'postmaster.pid'), 'utf8').split('\n')[0]);
    const postgres = new Postgres(admin, embedded.url, stop, pid, rows[0]?.version ?? '', SETTINGS);
    await postgres.#prepare();
    return postgres;
  }

  async #prepare(): Promise<void> {
    await this.admin.query('CREATE EXTENSION pg_walinspect');
    await this.admin.query(`CREATE DATABASE ${TEMPLATE}`);
    await migrate(urlOf(this.adminUrl, TEMPLATE));
  }

  /** With the product's schema, migrated. */
  millraceDatabase(): Promise<BenchDatabase> {
    return this.#create(TEMPLATE);
  }

  emptyDatabase(): Promise<BenchDatabase> {
    return this.#create('template0');
  }

  /** Before a measurement: what is dirty belongs to somebody else and is written now, not while we look at the clock. */
  async settle(database: BenchDatabase): Promise<void> {
    const tables = await database.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, relname) AS name FROM pg_stat_user_tables WHERE schemaname <> 'pg_toast'`,
    );
    if (tables.length > 0) await database.query(`VACUUM (ANALYZE) ${tables.map((table) => table.name).join(', ')}`);
    await this.admin.query('CHECKPOINT');
  }

  async walPosition(): Promise<string> {
    const { rows } = await this.admin.query<{ lsn: string }>('SELECT pg_current_wal_insert_lsn()::text AS lsn');
    return rows[0]?.lsn ?? '';
  }

  /** What was written between a position and now, and how much of it was images of whole pages. */
  async walSince(start: string): Promise<WalSpan> {
    const end = await this.walPosition();
    // What is still in the buffers of the log cannot be inspected; a message that is flushed takes everything before it along.
    await this.admin.query(`SELECT pg_logical_emit_message(false, 'bench', '', true)`);
    const { rows } = await this.admin.query<{ bytes: string; images: string }>(
      `SELECT ($2::pg_lsn - $1::pg_lsn)::text AS bytes, sum(fpi_size)::text AS images FROM pg_get_wal_stats($1, $2)`,
      [start, end],
    );
    return { bytes: Number(rows[0]?.bytes), fullPageBytes: Number(rows[0]?.images) };
  }

  async transactions(database: BenchDatabase): Promise<number> {
    const { rows } = await this.admin.query<{ n: string }>(
      'SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = $1',
      [database.name],
    );
    return Number(rows[0]?.n);
  }

  stop(): Promise<void> {
    return this.shutdown();
  }

  async #create(template: string): Promise<BenchDatabase> {
    const name = `bench_${++this.#databases}`;
    await this.admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
    const url = urlOf(this.adminUrl, name);
    const connect = async (): Promise<pg.Client> => {
      const client = new pg.Client({ connectionString: url, application_name: 'bench' });
      await client.connect();
      return client;
    };
    return {
      name,
      url,
      connect,
      query: async <R extends pg.QueryResultRow>(text: string, values: unknown[] = []) => {
        const client = await connect();
        try {
          return (await client.query<R>(text, values)).rows;
        } finally {
          await client.end();
        }
      },
      drop: async () => void (await this.admin.query(`DROP DATABASE ${name} WITH (FORCE)`)),
    };
  }
}

function urlOf(adminUrl: string, database: string): string {
  return adminUrl.replace(/[^/]+$/, database);
}
