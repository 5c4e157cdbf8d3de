import { afterAll, describe, expect, it } from 'vitest';
import pg from 'pg';
import { pino } from 'pino';
import { Database } from '../../../src/store/connection/database.js';
import { settingStatement, withSettings } from '../../../src/store/connection/session.js';
import { cloneDatabase } from '../../support/database.js';

const SETTINGS = `SELECT current_setting('TimeZone') AS zone, current_setting('work_mem') AS memory,
  current_setting('transaction_isolation') AS isolation`;

describe('session settings', async () => {
  const database = await cloneDatabase();
  afterAll(() => database.drop());

  it("keep the operator's options and put ours after them", () => {
    const url = 'postgres://u:p@h/d?sslmode=require&options=-c%20work_mem%3D64MB&x=1';
    expect(withSettings(url, [['TimeZone', 'UTC']])).toEqual({
      connectionString: 'postgres://u:p@h/d?sslmode=require&x=1',
      options: '-c work_mem=64MB -c TimeZone=UTC -c default_transaction_isolation=read\\ committed',
    });
  });

  it('leave a URL without parameters as it is', () => {
    expect(withSettings('postgres://h/d', [['a', 'b c']])).toEqual({
      connectionString: 'postgres://h/d',
      options: '-c a=b\\ c -c default_transaction_isolation=read\\ committed',
    });
  });

  it('hold on a real connection, whatever the URL says', async () => {
    const glue = database.url.includes('?') ? '&' : '?';
    const others = '-c TimeZone=America/New_York -c work_mem=7MB -c default_transaction_isolation=serializable';
    const url = `${database.url}${glue}options=${encodeURIComponent(others)}`;
    const db = new Database({ url, maxConnections: 3, logger: pino({ enabled: false }) });
    const [row] = await db.read({ tenant: 't', statement: { name: 'settings', text: SETTINGS, values: [] } });
    await db.close();
    expect(row).toEqual({ zone: 'UTC', memory: '7MB', isolation: 'read committed' });
  });

  it('make a statement that returns nothing and sets everything, for a transaction', async () => {
    const text = settingStatement([
      ['TimeZone', 'Asia/Tokyo'],
      ['work_mem', '9MB'],
    ]);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const before = (await client.query(SETTINGS)).rows;
    await client.query('BEGIN');
    expect((await client.query(text)).rows).toEqual([]);
    const inside = (await client.query(SETTINGS)).rows;
    await client.query('COMMIT');
    const after = (await client.query(SETTINGS)).rows;
    await client.end();
    expect(inside).toEqual([{ zone: 'Asia/Tokyo', memory: '9MB', isolation: 'read committed' }]);
    expect(after).toEqual(before);
  });
});
