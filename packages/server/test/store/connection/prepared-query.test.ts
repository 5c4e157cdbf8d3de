import { afterAll, describe, expect, it } from 'vitest';
import { Database } from '../../../src/store/connection/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { cloneDatabase } from '../../support/database.js';

/**
 * Statements of the queue go out by our own hand, and only the first time on a connection in full. One connection makes
 * that one the next.
 */
describe('a statement that is kept on its connection', async () => {
  const database = await cloneDatabase();
  const logger = createLogger({ level: 'silent', format: 'json' });
  const db = new Database({ url: database.url, maxConnections: 2, logger });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  it('brings values as PostgreSQL says they are, the second time as the first', async () => {
    const statement = {
      name: 'all_types',
      text: `SELECT $1::int AS n, $2::text AS text, $3::bool AS yes, $4::json AS json, 0.5::float8 AS half, null::text AS nothing,
                    timestamptz '2030-01-02 03:04:05.000006Z' AS at`,
    };
    const values = ['7', `it's "so" \\ äöü`, 'true', '{"big": 12345678901234567890}'];
    const expected = [
      {
        n: 7,
        text: `it's "so" \\ äöü`,
        yes: true,
        json: '{"big": 12345678901234567890}',
        half: 0.5,
        nothing: null,
        at: '2030-01-02 03:04:05.000006+00',
      },
    ];
    expect(await db.run({ ...statement, values })).toEqual(expected);
    expect(await db.run({ ...statement, values })).toEqual(expected);
    expect(await db.run({ ...statement, values: [null, null, null, null] })).toMatchObject([
      { n: null, text: null, yes: null },
    ]);
  });

  it('keeps its columns apart from those of another', async () => {
    const one = { name: 'one_column', text: 'SELECT $1::int AS a' };
    const two = { name: 'two_columns', text: 'SELECT $1::text AS b, $1::text AS c' };
    for (let n = 0; n < 3; n++) {
      expect(await db.run({ ...one, values: [String(n)] })).toEqual([{ a: n }]);
      expect(await db.run({ ...two, values: [String(n)] })).toEqual([{ b: String(n), c: String(n) }]);
    }
  });

  it('brings no rows or many', async () => {
    const series = { name: 'series', text: 'SELECT n FROM generate_series(1, $1::int) AS n' };
    const nothing = { name: 'nothing', text: `SELECT set_config('application_name', $1, false) WHERE false` };
    const silent = { name: 'silent', text: 'DELETE FROM millrace.loops WHERE name = $1' };
    for (const n of [0, 1, 3, 0]) expect(await db.run({ ...series, values: [String(n)] })).toHaveLength(n);
    for (let n = 0; n < 2; n++) {
      expect(await db.run({ ...nothing, values: ['x'] })).toEqual([]);
      expect(await db.run({ ...silent, values: ['none'] })).toEqual([]);
    }
  });

  it('may fail, the first time or later, and works when it is asked for again', async () => {
    const by = (n: number) => ({ name: 'divide', text: 'SELECT 12 / $1::int AS part', values: [String(n)] });
    for (let n = 0; n < 2; n++) {
      await expect(db.run(by(0))).rejects.toThrow('division by zero');
      expect(await db.run(by(4))).toEqual([{ part: 3 }]);
    }
    const broken = { name: 'broken', text: 'SELECT FROM nowhere', values: [] };
    for (let n = 0; n < 2; n++) await expect(db.run(broken)).rejects.toThrow('nowhere');
    await expect(db.transaction((run) => run(by(0)))).rejects.toThrow('division by zero');
    expect(await db.transaction((run) => run(by(6)))).toEqual([{ part: 2 }]);
  });
});
