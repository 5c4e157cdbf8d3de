import pg from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { compare, LOCK, migrate, refusal, SchemaError, schemaState } from '../../../src/store/migrations/migrate.js';
import { schemaText } from '../schema-text.js';
import { applyFirst, database, migratedTo, MIGRATIONS, NAMES, NEWEST, recorded, refusedStart } from './kit.js';

describe('migrations', () => {
  it('are numbered from 1 without a gap', () => {
    expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, index) => index + 1));
  });

  it('each name the oldest program that can live with them, from the first on that could', () => {
    const later = MIGRATIONS.filter(({ version }) => version >= 15);
    for (const { version, oldest } of later) expect(oldest, `migration ${version}`).toBeLessThanOrEqual(version);
    expect(later.filter(({ oldest }) => oldest === null)).toEqual([]);
    const [, ...rest] = later;
    rest.forEach(({ oldest }, index) => expect(oldest).toBeGreaterThanOrEqual(later[index]!.oldest!));
  });

  it('are applied once each by ten processes that start at once on an empty database', async () => {
    const db = await database();
    const reports = await Promise.all(Array.from({ length: 10 }, () => migrate(db.url)));
    expect(reports.flatMap(({ applied }) => applied).sort()).toEqual(NAMES);
    expect(new Set(reports.map(({ current }) => current))).toEqual(new Set([NEWEST]));
    expect(await recorded(db)).toEqual(NAMES);
    expect(await schemaState(db.url)).toEqual({ kind: 'current', found: NEWEST, expected: NEWEST });
  });

  it('are found done by a process that another overtakes between its transaction and the lock', async () => {
    const db = await database();
    const other = new pg.Client({ connectionString: db.url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query(`SELECT pg_advisory_lock(${LOCK})`);
    const query = Reflect.get(pg.Client.prototype, 'query') as (...args: unknown[]) => Promise<unknown>;
    let tries = 0;
    const overtaken: (...args: unknown[]) => unknown = async function (this: pg.Client, ...args) {
      // The second, when the session has looked for the schema before, and remembers that there was none.
      if (String(args[0]).includes('pg_try_advisory') && ++tries === 2) {
        await applyFirst(db, 1);
        await other.query(`SELECT pg_advisory_unlock(${LOCK})`);
      }
      return query.apply(this, args);
    };
    const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(overtaken);
    onTestFinished(() => spy.mockRestore());
    expect(await migrate(db.url)).toEqual({ applied: NAMES.slice(1), current: NEWEST });
  });

  it('leave nothing behind where they fail, and go on from there', async () => {
    const db = await migratedTo(NEWEST - 1);
    const before = await schemaText(db);
    // Its entry is the last thing a migration writes; everything before it must be undone.
    await db.query(`ALTER TABLE millrace.migrations ADD CONSTRAINT full_house CHECK (version < ${NEWEST})`);
    await expect(migrate(db.url)).rejects.toThrow('full_house');
    await db.query('ALTER TABLE millrace.migrations DROP CONSTRAINT full_house');
    expect(await schemaText(db)).toBe(before);
    expect(await migrate(db.url)).toEqual({ applied: NAMES.slice(-1), current: NEWEST });
  });
});

describe('a schema that is behind the program', () => {
  it('is refused with --auto-migrate=false, and left alone', async () => {
    const db = await migratedTo(1);
    expect(await refusedStart(db, false)).toEqual(
      new SchemaError(`the database schema is at version 1, this program needs ${NEWEST}: run \`millrace migrate\``),
    );
    expect(await recorded(db)).toEqual(NAMES.slice(0, 1));
  });
});

describe('the sentence of a refusal', () => {
  it('exists for every state that the program cannot live with', () => {
    const at = (version: number, oldest = version): string | null => refusal(compare({ version, oldest }));
    expect(at(NEWEST)).toBeNull();
    expect(at(NEWEST + 1, NEWEST)).toBeNull();
    expect(at(0)).toContain('millrace migrate');
    expect(at(NEWEST + 1)).toContain('run a newer millrace');
  });
});
