import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { Database } from '../../../src/store/connection/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { cloneDatabase } from '../../support/database.js';

const { MACADDR } = pg.types.builtins;
const usual = pg.types.getTypeParser(MACADDR);

/** Thrown in the data handler of a socket, which nobody catches: without the guard these end the test run. */
describe('an answer that cannot be read', async () => {
  const database = await cloneDatabase();
  const db = new Database({
    url: database.url,
    maxConnections: 3,
    logger: createLogger({ level: 'silent', format: 'json' }),
  });
  pg.types.setTypeParser(MACADDR, () => {
    throw new Error('longer than any string');
  });
  afterAll(async () => {
    pg.types.setTypeParser(MACADDR, usual);
    await db.close();
    await database.drop();
  });

  const broken = {
    name: 'broken',
    text: `SELECT n, macaddr '08:00:2b:01:02:03' AS p FROM generate_series(1, 3) AS n`,
    values: [],
  };
  const backend = { name: 'backend', text: 'SELECT pg_backend_pid() AS pid', values: [] };

  it('fails its statement and costs its connection, and nothing else', async () => {
    const [before] = await db.run(backend);
    const failure = await db.run(broken).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'internal', message: expect.stringContaining('too large') as unknown });
    expect((failure as Error).cause).toMatchObject({ message: expect.stringContaining('longer than any') as unknown });
    const [after] = await db.run(backend);
    expect(after).not.toEqual(before);
    await expect(db.read({ tenant: 't', statement: broken })).rejects.toThrow('longer than any string');
    expect(await db.read({ tenant: 't', statement: backend })).toHaveLength(1);
  });

  it('fails the transaction that it is part of, of which nothing is kept', async () => {
    const add = { name: 'add', text: `INSERT INTO millrace.loops VALUES ('never', now())`, values: [] };
    const failed = db.transaction(async (run) => {
      await run(add);
      await run(broken);
    });
    await expect(failed).rejects.toMatchObject({ code: 'internal' });
    expect(await database.query(`SELECT FROM millrace.loops WHERE name = 'never'`)).toEqual([]);
    expect(await db.transaction((run) => run(backend))).toHaveLength(1);
  });
});
