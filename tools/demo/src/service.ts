import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startQuietService, type Program } from '@millrace/tools-shared';

/**
 * The servers of the demonstration: the development server whose dashboard one looks at, and a second process on the
 * same database. A development server knows a single tenant; the second process has keys for others.
 */
export interface Service {
  readonly devUrl: string;
  /** Null if the database of a server that was already running could not be joined. */
  readonly tenants: TenantServer | null;
  stop(): Promise<void>;
}

export interface TenantServer {
  readonly url: string;
  readonly keys: ReadonlyMap<string, string>;
  /** Opens the view across all tenants. */
  readonly adminToken: string;
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const START_MS = 60_000;
const NAMES = ['acme', 'globex', 'initech'] as const;

export async function startService(port: number, say: (text: string) => void): Promise<Service> {
  const devUrl = `http://127.0.0.1:${port}`;
  const programs: Program[] = [];
  const isRunning = await answers(devUrl);
  const dataDir = join(ROOT, '.millrace', ...(isRunning ? [] : ['demo']));
  if (!isRunning) {
    say(`starting a development server on ${devUrl}`);
    programs.push(await start(port, ['--dev', `--data-dir=${dataDir}`], {}));
  }
  const canJoin = existsSync(dataDir);
  const tenants = canJoin ? await startTenants(port + 1, dataDir, programs) : null;
  if (tenants === null) say('other tenants are left out: the database of that server is not in .millrace/');
  return { devUrl, tenants, stop: () => stopAll(programs) };
}

async function startTenants(port: number, dataDir: string, programs: Program[]): Promise<TenantServer> {
  // Drawn on every start: these keys open a server on this machine, but they are nobody else's business either.
  const keys = new Map(NAMES.map((name) => [name, `${name}-${randomBytes(6).toString('hex')}`]));
  const adminToken = `operator-${randomBytes(6).toString('hex')}`;
  const url = `http://127.0.0.1:${port}`;
  programs.push(
    await start(port, ['--mode=api'], {
      DATABASE_URL: `embedded:${dataDir}`,
      MILLRACE_API_KEYS: [...keys].map(([name, key]) => `${key}:${name}`).join(','),
      MILLRACE_ADMIN_TOKEN: adminToken,
      MILLRACE_WORKER_TOKEN: randomBytes(12).toString('hex'),
    }),
  );
  return { url, keys, adminToken };
}

const start = (port: number, flags: readonly string[], env: Readonly<Record<string, string>>): Promise<Program> =>
  startQuietService({
    port,
    flags: [...flags, '--log-level=error'],
    env,
    // A line per finished job would hide what the demonstration itself says; errors go to stderr.
    stdout: 'ignore',
    // The development server then stops its database by itself; killed, it could not.
    atExit: 'SIGTERM',
    withinMs: START_MS,
  });

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

/** The last one started is stopped first: the development server owns the database. */
async function stopAll(programs: readonly Program[]): Promise<void> {
  for (const program of [...programs].reverse()) await program.end();
}
