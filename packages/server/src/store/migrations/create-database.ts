import pg from 'pg';
import { onConnection } from '../connection/one-connection.js';

const EXISTS = '42P04';

/** Makes the database beside the one that the URL leads to, unless it is there. Returns its URL. */
export async function ensureDatabase(url: string, name: string): Promise<string> {
  await onConnection({ url, name: 'millrace' }, async (client) => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`).catch(unlessItExists);
  });
  return url.replace(/\/[^/]*$/, `/${name}`);
}

/** Another process was first. */
function unlessItExists(error: unknown): void {
  if ((error as { code?: string }).code !== EXISTS) throw error;
}
