import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LOCK, migrate, SchemaError, schemaState } from '../../../src/store/migrations/migrate.js';
import type { TestDatabase } from '../../support/database.js';
import { lockWaits } from '../../support/lock-waits.js';
import { readyBody, startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { schemaText } from '../schema-text.js';
import { database, migratedTo, NAMES, NEWEST, recorded, refusedStart, setVersion } from './kit.js';

describe('migrations', () => {
  it('find nothing to do a second time', async () => {
    const db = await database();
    await migrate(db.url);
    const before = await schemaText(db);
    expect(await migrate(db.url)).toEqual({ applied: [], current: NEWEST });
    expect(await schemaText(db)).toBe(before);
  });

  it('put what waits for the future apart, count what is large, and leave the ids of dead letters alone', async () => {
    const db = await migratedTo(3);
    const id = (n: number): string => `01900000-0000-7000-8000-abcd0000000${n}`;
    const add = async (n: number, minutes: number, payload: string, retries = 0): Promise<void> => {
      await db.query(
        `INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
         VALUES (now(), 0, $1, 'kept', 'q', 'task', ${payload})`,
        [id(n)],
      );
      await db.query(
        `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
         VALUES (now() + $2 * interval '1 minute', 0, $3, $3, $1, 'kept', 'q')`,
        [id(n), minutes, retries],
      );
    };
    const bury = (n: number): Promise<{ id: string }[]> =>
      db.query(
        `INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task)
         VALUES (now(), $1, 'non_retryable', 'kept', 'q', 'task') RETURNING id`,
        [id(n)],
      );
    await add(1, -1, `'{}'`);
    await add(2, 60, `'{}'`, 1);
    await add(3, -1, `json_build_array(repeat('x', 9996))`);
    await add(4, 60, `json_build_array(repeat('x', 8187))`);
    await bury(1);
    await migrate(db.url);
    expect(await db.query('SELECT id, later, size, retry_count FROM millrace.ready ORDER BY id')).toEqual([
      { id: id(1), later: null, size: null, retry_count: 0 },
      { id: id(2), later: true, size: null, retry_count: 1 },
      { id: id(3), later: null, size: 10_000, retry_count: 0 },
      { id: id(4), later: true, size: null, retry_count: 0 },
    ]);
    expect(await db.query('SELECT id FROM millrace.dead_letters')).toEqual([{ id: '1' }]);
    expect(await bury(2)).toEqual([{ id: String(2 * 0x10000 + 0xabcd) }]);
  });

  it('give dead letters that exist a fingerprint, and the retries of those whose job is still there', async () => {
    const db = await migratedTo(7);
    const id = (n: number): string => `01900000-0000-7000-8000-abcd0000000${n}`;
    const bury = (n: number, error: string): Promise<unknown> =>
      db.query(
        `INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task, error)
         VALUES (now(), $1, 'non_retryable', 'kept', 'q', 'task', $2)`,
        [id(n), error],
      );
    await db.query(
      `INSERT INTO millrace.done (completed_at, retry_count, delivery_count, status, id, tenant)
       VALUES (now(), 3, 4, 'failed', $1, 'kept')`,
      [id(1)],
    );
    await bury(1, 'user 1 is gone');
    await bury(2, 'user 22 is gone');
    await migrate(db.url);
    // As a process of the version before would write it.
    await bury(3, 'user 333 is gone');
    await bury(4, 'no user');
    const letters = await db.query<{ retry_count: number | null; fingerprint: string }>(
      'SELECT retry_count, fingerprint FROM millrace.dead_letters ORDER BY job_id',
    );
    expect(letters.map((letter) => letter.retry_count)).toEqual([3, null, null, null]);
    const [first, ...others] = letters.map(({ fingerprint }) => fingerprint);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(others.map((fingerprint) => fingerprint === first)).toEqual([true, true, false]);
  });

  it('bring an old schema up to date and keep what it holds', async () => {
    const db = await migratedTo(1);
    await db.query(`INSERT INTO millrace.tenants VALUES ('kept', 1)`);
    expect(await schemaState(db.url)).toEqual({ kind: 'behind', found: 1, expected: NEWEST });
    expect(await migrate(db.url)).toEqual({ applied: NAMES.slice(1), current: NEWEST });
    expect(await db.query('SELECT tenant FROM millrace.tenants')).toEqual([{ tenant: 'kept' }]);
  });

  it('need no right to create schemas where the schema was made for them', async () => {
    const db = await database();
    const role = `role_${Math.random().toString(36).slice(2)}`;
    await db.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p'`);
    onTestFinished(async () => {
      await db.query(`DROP OWNED BY ${role}`);
      await db.query(`DROP ROLE ${role}`);
    });
    const url = new URL(db.url);
    [url.username, url.password] = [role, 'p'];
    await expect(migrate(url.href)).rejects.toThrow('permission denied');
    await db.query(`CREATE SCHEMA millrace AUTHORIZATION ${role}`);
    expect(await migrate(url.href)).toEqual({ applied: NAMES, current: NEWEST });
  });
});

describe('a migration that has to wait for others', () => {
  /** A transaction that has used a table, as a serving process or a backup does, and is still open. */
  async function open(db: TestDatabase, lock: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    await client.query(`BEGIN; LOCK TABLE ${lock} MODE`);
    return client;
  }

  const waits = (db: TestDatabase): Promise<void> => lockWaits(db, { by: 'millrace-migrate' });

  it('lets statements pass that came after it, and is applied once its turn comes', async () => {
    const db = await migratedTo(4);
    const backup = await open(db, 'millrace.jobs IN ACCESS SHARE');
    const migrating = migrate(db.url);
    await waits(db);
    // It would wait for the migration, and the migration for the backup.
    expect(await db.query('SELECT count(*)::int AS n FROM millrace.jobs')).toEqual([{ n: 0 }]);
    expect(await recorded(db)).toHaveLength(4);
    await backup.end();
    expect(await migrating).toEqual({ applied: NAMES.slice(4), current: NEWEST });
  });

  it('gives way to a statement that waits for it in turn', async () => {
    const db = await migratedTo(8);
    // The migration locks the tables the other way round.
    const serving = await open(db, 'millrace.bundles IN ROW EXCLUSIVE');
    const migrating = migrate(db.url);
    await waits(db);
    await serving.query('LOCK TABLE millrace.leases IN ROW EXCLUSIVE MODE');
    await serving.query('COMMIT');
    await serving.end();
    expect(await migrating).toEqual({ applied: NAMES.slice(8), current: NEWEST });
  });
});

describe('a process that waits for another one to migrate', () => {
  /** Another process, which has taken the lock. */
  async function migrating(db: TestDatabase): Promise<pg.Client> {
    const other = new pg.Client({ connectionString: db.url });
    await other.connect();
    await other.query(`SELECT pg_advisory_lock(${LOCK})`);
    return other;
  }

  /** How many processes have found it taken, and are between two tries. */
  const tries = async (db: TestDatabase): Promise<number> => {
    const [row] = await db.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'millrace-migrate' AND state = 'idle'
         AND query = 'COMMIT'`,
    );
    return row!.n;
  };

  it('goes on by itself if the other one ends', async () => {
    const db = await migratedTo(30);
    const other = await migrating(db);
    const waiting = migrate(db.url);
    await until(async () => (await tries(db)) > 0, { what: 'it to find the lock taken' });
    expect(await recorded(db)).toHaveLength(30);
    await other.end();
    expect(await waiting).toEqual({ applied: NAMES.slice(30), current: NEWEST });
  });

  it('says that the database is out of reach if its connection is lost meanwhile', async () => {
    const db = await migratedTo(30);
    const other = await migrating(db);
    onTestFinished(() => other.end());
    const waiting = expect(migrate(db.url)).rejects.toMatchObject({ code: 'unavailable' });
    await until(async () => (await tries(db)) > 0, { what: 'it to find the lock taken' });
    await db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'millrace-migrate'`,
    );
    await waiting;
  });
});

describe('a schema that is ahead of the program', () => {
  const SENTENCE =
    `the database schema is at version 9999, newer than the ${NEWEST} this program knows: ` + 'run a newer millrace';

  it('is refused by the migrations, which change nothing', async () => {
    const db = await migratedTo(1);
    await setVersion(db, 9999);
    const before = await schemaText(db);
    await expect(migrate(db.url)).rejects.toThrow(new SchemaError(SENTENCE));
    expect(await schemaText(db)).toBe(before);
  });

  it.each([true, false])('is refused at the start of the service, auto-migrate %s', async (autoMigrate) => {
    const db = await database();
    await migrate(db.url);
    await setVersion(db, 9999);
    expect(await refusedStart(db, autoMigrate)).toEqual(new SchemaError(SENTENCE));
  });

  it('takes a running service out of rotation', async () => {
    const server = await startTestServer();
    onTestFinished(() => server.stop());
    await readyBody(server);
    await setVersion(server.database, 9999);
    await until(async () => (await server.nobody.get('/ready')).status === 503, { what: 'the next time it asks' });
    expect((await server.nobody.get('/health')).status).toBe(200);
  });
});

describe('a schema that is newer, and was made for the program to live with', () => {
  const addCompatible = (db: TestDatabase, oldest = NEWEST): Promise<unknown> =>
    db.query('INSERT INTO millrace.migrations (version, name, oldest) VALUES (9999, $1, $2)', ['later', oldest]);

  it('keeps a running service ready, until a migration goes beyond its range', async () => {
    const server = await startTestServer();
    onTestFinished(() => server.stop());
    await addCompatible(server.database);
    await readyBody(server);
    await server.database.query('UPDATE millrace.migrations SET oldest = 9999 WHERE version = 9999');
    await until(async () => (await server.nobody.get('/ready')).status === 503, { what: 'the next time it asks' });
  });

  it.each([true, false])('lets the service start, auto-migrate %s, and changes nothing', async (autoMigrate) => {
    const db = await database();
    await migrate(db.url);
    await addCompatible(db);
    const server = await startTestServer({ database: db, config: { autoMigrate } });
    onTestFinished(() => server.stop());
    await readyBody(server);
    expect(await migrate(db.url)).toEqual({ applied: [], current: 9999 });
    expect(await schemaState(db.url)).toEqual({ kind: 'compatible', found: 9999, expected: NEWEST });
  });

  it('is refused if any of the migrations goes beyond the range', async () => {
    const db = await database();
    await migrate(db.url);
    await setVersion(db, 9998);
    await addCompatible(db);
    expect(await refusedStart(db, true)).toBeInstanceOf(SchemaError);
  });
});

describe('a schema that is behind the program', () => {
  it('is migrated at the start of the service', async () => {
    const db = await migratedTo(1);
    const server = await startTestServer({ database: db });
    onTestFinished(() => server.stop());
    expect(await recorded(db)).toEqual(NAMES);
    expect(server.log()).toContainEqual(expect.objectContaining({ applied: NAMES.slice(1) }));
  });

  it('is refused with --auto-migrate=false when it is not there at all', async () => {
    const db = await database();
    expect(await refusedStart(db, false)).toBeInstanceOf(SchemaError);
    expect(await db.query(`SELECT FROM pg_namespace WHERE nspname = 'millrace'`)).toEqual([]);
  });
});
