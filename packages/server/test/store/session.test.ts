import { afterAll, describe, expect, it } from 'vitest';
import { pino } from 'pino';
import { Database } from '../../src/store/database.js';
import { withSettings } from '../../src/store/session.js';
import { cloneDatabase } from '../support/database.js';

describe('session settings', async () => {
  const database = await cloneDatabase();
  afterAll(() => database.drop());

  it("keep the operator's options and put ours after them", () => {
    const url = 'postgres://u:p@h/d?sslmode=require&options=-c%20work_mem%3D64MB&x=1';
    expect(withSettings(url, ['TimeZone=UTC'])).toEqual({
      connectionString: 'postgres://u:p@h/d?sslmode=require&x=1',
      options: '-c work_mem=64MB -c TimeZone=UTC',
    });
  });

  it('leave a URL without parameters as it is', () => {
    expect(withSettings('postgres://h/d', ['a=b'])).toEqual({ connectionString: 'postgres://h/d', options: '-c a=b' });
  });

  it('hold on a real connection, whatever the URL says', async () => {
    const glue = database.url.includes('?') ? '&' : '?';
    const url = `${database.url}${glue}options=${encodeURIComponent('-c TimeZone=America/New_York -c work_mem=7MB')}`;
    const db = new Database({ url, maxConnections: 3, logger: pino({ enabled: false }) });
    const text = `SELECT current_setting('TimeZone') AS zone, current_setting('work_mem') AS memory`;
    const [row] = await db.read({ name: 'settings', text });
    await db.close();
    expect(row).toEqual({ zone: 'UTC', memory: '7MB' });
  });
});
