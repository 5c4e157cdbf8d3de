import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { onConnection } from '../connection/one-connection.js';
import { notInstalled, OutboxError, outboxErrorAtStart } from './outbox-error.js';

/**
 * Creating, upgrading and removing the outbox. Each version is a file that can be applied again and records itself, so
 * an application may as well carry them in its own migrations: `outboxSql` is what `installOutbox` runs.
 */
const FOLDER = new URL('../../../sql/outbox/', import.meta.url);
/** One installation at a time. */
const TAKE_LOCK = 'SELECT pg_advisory_xact_lock(7162114921838)';
const OLDEST_POSTGRES = 130_000;

interface Version {
  readonly version: number;
  readonly sql: string;
}

const versions = (): Version[] =>
  readdirSync(FOLDER)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
    .map((name) => ({ version: Number(name.slice(0, 4)), sql: readFileSync(new URL(name, FOLDER), 'utf8') }));

/** What this program installs. */
export const OUTBOX_VERSION = versions().length;
/** The oldest that its relay and commands work with. */
export const OLDEST_OUTBOX = 2;

/** Roles to grant rights to. */
export interface OutboxRoles {
  /** May enqueue, and do nothing else. */
  readonly app: readonly string[];
  /** May run a relay. */
  readonly relay: readonly string[];
}

const APP_FUNCTIONS = ['enqueue', 'enqueue_workflow', 'first_time'];
const RELAY_FUNCTIONS = ['claim'];

/** Everything as one script, for a migration of the application's own. It needs no transaction of its own. */
export function outboxSql({ app, relay }: OutboxRoles): string {
  const parts = versions().map(({ sql }) => sql.trim());
  const grants = [...app.map(appGrants), ...relay.map(relayGrants)].flat();
  return `${[...parts, ...(grants.length > 0 ? [grants.join('\n')] : [])].join('\n\n')}\n`;
}

const appGrants = (role: string): string[] => executeGrants(APP_FUNCTIONS, `TO ${pg.escapeIdentifier(role)};`);

const relayGrants = (role: string): string[] => {
  const to = `TO ${pg.escapeIdentifier(role)};`;
  return [
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA millrace_outbox ${to}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA millrace_outbox ${to}`,
    ...executeGrants(RELAY_FUNCTIONS, to),
  ];
};

const executeGrants = (functions: readonly string[], to: string): string[] =>
  functions.map((name) => `GRANT EXECUTE ON FUNCTION millrace_outbox.${name} ${to}`);

export interface Installed {
  /** The versions that were applied; none if it was there. */
  readonly applied: readonly number[];
  /** What there is now: newer than this program's if a newer one installed it, which is left alone. */
  readonly version: number;
}

/** An outbox that is there is upgraded in place; grants are made each time. */
export async function installOutbox(url: string, roles: OutboxRoles): Promise<Installed> {
  return withClient(url, async (client) => {
    await refuseOldServer(client);
    return inTransaction(client, async () => {
      await client.query(TAKE_LOCK);
      const found = await installedVersion(client);
      const missing = versions().filter(({ version }) => version > (found ?? 0));
      for (const { sql } of missing) await client.query(sql);
      for (const grant of [...roles.app.map(appGrants), ...roles.relay.map(relayGrants)].flat())
        await client.query(grant);
      return { applied: missing.map(({ version }) => version), version: Math.max(found ?? 0, OUTBOX_VERSION) };
    });
  });
}

/** Refuses while entries wait, unless told otherwise: they would never be sent. */
export async function uninstallOutbox(url: string, { force }: { readonly force: boolean }): Promise<void> {
  await withClient(url, (client) =>
    inTransaction(client, async () => {
      await client.query(TAKE_LOCK);
      if ((await installedVersion(client)) === null) throw notInstalled();
      await client.query('LOCK TABLE millrace_outbox.entries IN ACCESS EXCLUSIVE MODE');
      const { rows } = await client.query<{ waiting: boolean }>(
        `SELECT EXISTS (SELECT FROM millrace_outbox.entries) OR EXISTS (SELECT FROM millrace_outbox.refused) AS waiting`,
      );
      if (rows[0]?.waiting && !force)
        throw new OutboxError('entries wait in this outbox, or were refused; --force removes it with them', true);
      await client.query('DROP SCHEMA millrace_outbox CASCADE');
    }),
  );
}

async function installedVersion(client: pg.Client): Promise<number | null> {
  const { rows } = await client.query<{ known: boolean }>(
    `SELECT to_regclass('millrace_outbox.versions') IS NOT NULL AS known`,
  );
  if (!rows[0]?.known) return null;
  const found = await client.query<{ version: number | null }>(
    'SELECT max(version)::int AS version FROM millrace_outbox.versions',
  );
  return found.rows[0]?.version ?? null;
}

async function refuseOldServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version_num') AS version`);
  const version = Number(rows[0]?.version);
  if (version < OLDEST_POSTGRES)
    throw new OutboxError(`PostgreSQL 13 or newer is required; this server is ${Math.floor(version / 10_000)}`, true);
}

async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('BEGIN');
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

const withClient = <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  onConnection({ url, name: 'millrace-outbox', translate: outboxErrorAtStart }, work);
