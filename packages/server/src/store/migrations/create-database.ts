import pg from 'pg';
import { onConnection, rowsOf } from '../connection/one-connection.js';
import { loadStatements } from '../sql.js';

const sql = loadStatements('store/migrations.sql');
const EXISTS = '42P04';

/** Makes the database beside the one that the URL leads to, unless it is there. Returns its URL. */
export async function ensureDatabase(url: string, name: string): Promise<string> {
  await onConnection({ url, name: 'millrace' }, async (client) => {
    const known = await rowsOf(client, sql.database_known({ name }));
    if (known.length === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`).catch(unlessItExists);
  });
  return url.replace(/\/[^/]*$/, `/${name}`);
}

/** Another process was first. */
function unlessItExists(error: unknown): void {
  if ((error as { code?: string }).code !== EXISTS) throw error;
}
