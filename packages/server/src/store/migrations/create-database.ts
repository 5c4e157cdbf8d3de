import pg from 'pg';
import { translateAtStart } from '../failures.js';

const EXISTS = '42P04';

/** Makes the database beside the one that the URL leads to, unless it is there. Returns its URL. */
export async function ensureDatabase(url: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: url, application_name: 'millrace', connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
  } catch (error) {
    // Another process was first.
    if ((error as { code?: string }).code !== EXISTS) throw translateAtStart(error);
  } finally {
    await client.end().catch(() => undefined);
  }
  return url.replace(/\/[^/]*$/, `/${name}`);
}
