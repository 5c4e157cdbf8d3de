import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PATIENCE_MS } from '@millrace/tools-shared';
import pg from 'pg';
import { freePort } from './free-port.js';

/**
 * A PgBouncer in transaction mode in front of the PostgreSQL of a run, if it is installed. Its pool is smaller than the
 * number of connections a server opens to it, so its server connections do change hands.
 */
export interface PgBouncer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Null if it is not installed. */
export function pgBouncerVersion(): string | null {
  try {
    return execFileSync('pgbouncer', ['--version'], { encoding: 'utf8' }).split('\n')[0] ?? null;
  } catch {
    return null;
  }
}

export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer> {
  const target = new URL(databaseUrl);
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), 'millrace-pgbouncer-'));
  const file = join(home, 'pgbouncer.ini');
  writeFileSync(file, configuration(target, port), { mode: 0o600 });
  // Like PostgreSQL it refuses to run as root. The account need not have access to the path: it starts inside.
  const socketDir = decodeURIComponent(target.hostname);
  const account = process.getuid?.() === 0 ? statSync(socketDir) : null;
  if (account) for (const path of [home, file]) chownSync(path, account.uid, account.gid);
  const child = spawn('pgbouncer', ['--quiet', file], {
    cwd: socketDir,
    stdio: 'ignore',
    ...(account && { uid: account.uid, gid: account.gid }),
  });
  const exited = once(child, 'exit');
  const end = (): boolean => child.kill('SIGKILL');
  process.once('exit', end);
  await Promise.race([
    answers(throughPort(databaseUrl, port)),
    exited.then(([code]) => Promise.reject(new Error(`pgbouncer ended with ${String(code)}`))),
  ]);
  return {
    port,
    stop: async () => {
      process.off('exit', end);
      end();
      await exited;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** The same database through another port of this machine. */
export function throughPort(databaseUrl: string, port: number): string {
  const { username, password, pathname, search } = new URL(databaseUrl);
  // Rebuilt from scratch: the host of a URL cannot be replaced if it is a directory.
  return `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}${search}`;
}

/** Idle server connections are closed soon: a test that drops its database finds nobody in it. */
function configuration(target: URL, port: number): string {
  const { username, password } = target;
  return `[databases]
* = host=/proc/self/cwd port=${target.port || '5432'} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 2000
server_idle_timeout = 1
`;
}

async function answers(url: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT');
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
