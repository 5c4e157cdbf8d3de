import pg from 'pg';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { EVERY_BUCKET } from '../../../src/domain/cells.js';
import { Database } from '../../../src/store/connection/database.js';
import type { Statement } from '../../../src/store/sql.js';
import { cloneDatabase } from '../../support/database.js';
import { lockWaits } from '../../support/lock-waits.js';
import { until } from '../../support/until.js';

const statement = (text: string): Statement => ({ name: text.slice(0, 20), text, values: [] });
const one = statement('SELECT 1 AS one');

it('a connection whose check outlasts its caller serves the next one, and does not keep the pool open', async () => {
  const database = await cloneDatabase();
  onTestFinished(() => database.drop());
  // One connection listens, one reads; that leaves one for the queue.
  const db = new Database({ url: database.url, maxConnections: 3, logger: pino({ level: 'silent' }) });
  db.expectRange(EVERY_BUCKET);
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  onTestFinished(() => locker.end());
  expect(await db.run(one)).toEqual([{ one: 1 }]);
  await locker.query('BEGIN; LOCK TABLE millrace.cell IN ACCESS EXCLUSIVE MODE');
  const holding = expect(db.run(statement('SELECT pg_sleep(600)'))).rejects.toMatchObject({ code: 'unavailable' });
  const backend = `pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'SELECT pg_sleep(600)'`;
  await until(async () => (await database.query(`SELECT ${backend}`)).length > 0, {
    what: 'the connection to be busy',
  });
  const queued = expect(db.run(one)).rejects.toMatchObject({ code: 'unavailable' });
  // Whoever waits gets a new connection, and gives up before its check has ended.
  await database.query(`SELECT pg_terminate_backend(pid) FROM (SELECT ${backend}) AS busy`);
  await holding;
  await lockWaits(database);
  await queued;
  await locker.query('COMMIT');
  expect(await db.run(one)).toEqual([{ one: 1 }]);
  expect(db.connections()).toMatchObject({ total: 1, idle: 1, waiting: 0 });
  await db.close();
});
