import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, migrate, startEmbedded } from '@millrace/server';
import { onExit, until } from '@millrace/tools-shared';
import pg from 'pg';

const SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  shared_buffers: '512MB',
  // Large enough that no contender pays for a checkpoint caused by another one's writes.
  max_wal_size: '16GB',
  checkpoint_timeout: '1h',
};

const TEMPLATE = 'millrace_template';

export interface BenchDatabase {
  readonly name: string;
  readonly url: string;
  query<R extends pg.QueryResultRow = Record<string, never>>(text: string, values?: unknown[]): Promise<R[]>;
  /** A connection that stays open, for use as a session. */
  connect(): Promise<pg.Client>;
  drop(): Promise<void>;
}

export interface WalSpan {
  readonly bytes: number;
  readonly fullPageBytes: number;
}

/**
 * The PostgreSQL of a run: the embedded binaries in a temporary directory, as durable as in production, with the same
 * settings for all. Each contender gets a fresh database, so none inherits another's tables, statistics or bloat.
 */
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
    // After a signal there is no time to wait for the server to stop; its data is worth nothing.
    const remove = (): void => rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    const forget = onExit(remove);
    const admin = new pg.Client({ connectionString: embedded.url, application_name: 'bench' });
    await admin.connect();
    const stop = async (): Promise<void> => {
      await admin.end();
      await embedded.stop();
      forget();
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

  /** A database with the service's schema. */
  millraceDatabase(): Promise<BenchDatabase> {
    return this.#create(TEMPLATE);
  }

  emptyDatabase(): Promise<BenchDatabase> {
    return this.#create('template0');
  }

  /** Called before a measurement: what others have left to write is written now, not while the clock runs. */
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

  /** How much was written since a position, and how much of that was full-page images. */
  async walSince(start: string): Promise<WalSpan> {
    const end = await this.walPosition();
    // What is still in the log's buffers cannot be inspected; a flushed message flushes everything before it too.
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

/** Resolves when nothing on a queue is due or running any more. */
export async function untilQueueIsEmpty(url: string, queue: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'bench' });
  await client.connect();
  const isEmpty = async (): Promise<boolean> => {
    const { rows } = await client.query<{ empty: boolean }>(
      `SELECT NOT EXISTS (SELECT FROM millrace.ready WHERE queue = $1 AND later IS NULL)
          AND NOT EXISTS (SELECT FROM millrace.running) AS empty`,
      [queue],
    );
    return rows[0]?.empty === true;
  };
  await until(isEmpty, { what: `the queue ${queue} to be empty`, withinMs: 60_000, everyMs: 2 });
  await client.end();
}

function urlOf(adminUrl: string, database: string): string {
  return adminUrl.replace(/[^/]+$/, database);
}
