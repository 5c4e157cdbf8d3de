import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Database } from './database.js';

/**
 * Checks once, at startup, that the connections behave as the service expects. An unannounced pooler in transaction
 * mode would let statements run without their plans and deadlines, or under names that belong to another connection,
 * and only now and then, under load. So we detect it here and refuse to start.
 */
export class SessionError extends Error {
  override readonly name = 'SessionError';
}

const TOLD = '--pooler transaction (docs/operations.md, "Poolers")';
const ECHO_MS = 5_000;
/** How poolers and proxies reject session settings in the startup packet. */
const REFUSED = /startup parameter|command-line options/i;
/** PostgreSQL rejects our isolation level: the default is a different one, and the transaction has already begun. */
const WRONG_ISOLATION = '25001';

const PROBE = {
  name: 'session_probe',
  text: `SELECT pg_backend_pid() AS pid, setting::int AS deadline FROM pg_settings WHERE name = 'statement_timeout'`,
  values: [],
};
interface Probe {
  readonly pid: number;
  readonly deadline: number;
}

export async function checkSessions(db: Database): Promise<void> {
  const [hot, read] = await probe(db);
  if (hot.deadline !== db.deadlines.hotTimeoutMs || read.deadline !== db.deadlines.readTimeoutMs)
    throw new SessionError(`a pooler or proxy in front of PostgreSQL drops session settings: set ${TOLD}`);
  // Two connections that are open at the same time cannot share a backend, unless a pooler lends it to both.
  if (db.pooler === 'none' && hot.pid === read.pid)
    throw new SessionError(`the database URL leads to a pooler in transaction mode: set ${TOLD}`);
  if (db.pooler === 'transaction' && db.canListen) await checkEcho(db);
}

async function probe(db: Database): Promise<[hot: Probe, read: Probe]> {
  try {
    const [hot] = await db.run<Probe>(PROBE);
    const [read] = await db.read<Probe>({ tenant: '', statement: PROBE });
    return [hot!, read!];
  } catch (error) {
    throw refusalOf(error) ?? error;
  }
}

function refusalOf(error: unknown): SessionError | null {
  const cause = (error as Error).cause ?? error;
  const { message, code } = cause as Error & { code?: string };
  if (REFUSED.test(message)) {
    const advice = `set ${TOLD}, or connect directly`;
    return new SessionError(`a pooler or proxy refuses session settings (${message}): ${advice}`);
  }
  if (code !== WRONG_ISOLATION) return null;
  const fix = `ALTER ROLE ... SET default_transaction_isolation = 'read committed'`;
  return new SessionError(`behind a pooler the default isolation must be read committed: ${fix}`);
}

/**
 * A notification sent through the pooler must arrive on the direct connection: the same database, on a connection that
 * stays ours.
 */
async function checkEcho(db: Database): Promise<void> {
  const channel = `millrace_echo_${randomUUID().replaceAll('-', '')}`;
  const client = await openListener(db);
  try {
    const heard = new Promise<boolean>((resolve) => {
      client.once('notification', () => resolve(true));
      client.once('end', () => resolve(false));
      setTimeout(() => resolve(false), ECHO_MS).unref();
    });
    await client.query(`LISTEN ${channel}`);
    await db.run({ name: 'echo', text: `SELECT pg_notify('${channel}', '')`, values: [] });
    if (!(await heard)) throw new SessionError(DEAF);
  } finally {
    await client.end().catch(() => undefined);
  }
}

const DEAF =
  'a notification sent through the database URL is not heard on --direct-database-url: ' +
  'both must lead to the same database, the second one around the pooler';

async function openListener(db: Database): Promise<pg.Client> {
  try {
    return await db.openListener();
  } catch (error) {
    const cause = (error as Error).cause;
    if (!(cause instanceof Error && REFUSED.test(cause.message))) throw error;
    throw new SessionError(`--direct-database-url leads to a pooler as well (${cause.message})`);
  }
}
