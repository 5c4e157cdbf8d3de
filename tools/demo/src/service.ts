import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onExit, until } from '@millrace/tools-shared';

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
const MILLRACE = join(ROOT, 'packages/cli/bin/millrace.mjs');
const START_MS = 60_000;
const NAMES = ['acme', 'globex', 'initech'] as const;

export async function startService(port: number, say: (text: string) => void): Promise<Service> {
  const devUrl = `http://127.0.0.1:${port}`;
  const children: ChildProcess[] = [];
  const isRunning = await answers(devUrl);
  const dataDir = join(ROOT, '.millrace', ...(isRunning ? [] : ['demo']));
  if (!isRunning) {
    say(`starting a development server on ${devUrl}`);
    children.push(start(['--dev', `--api-port=${port}`, '--metrics-port=0', `--data-dir=${dataDir}`], {}));
    await reachable(devUrl);
  }
  const canJoin = existsSync(dataDir);
  const tenants = canJoin ? await startTenants(port + 1, dataDir, children) : null;
  if (tenants === null) say('other tenants are left out: the database of that server is not in .millrace/');
  return { devUrl, tenants, stop: () => stopAll(children) };
}

async function startTenants(port: number, dataDir: string, children: ChildProcess[]): Promise<TenantServer> {
  // Drawn on every start: these keys open a server on this machine, but they are nobody else's business either.
  const keys = new Map(NAMES.map((name) => [name, `${name}-${randomBytes(6).toString('hex')}`]));
  const adminToken = `operator-${randomBytes(6).toString('hex')}`;
  const url = `http://127.0.0.1:${port}`;
  children.push(
    start(['--mode=api', '--host=127.0.0.1', `--api-port=${port}`, '--metrics-port=0'], {
      DATABASE_URL: `embedded:${dataDir}`,
      MILLRACE_API_KEYS: [...keys].map(([name, key]) => `${key}:${name}`).join(','),
      MILLRACE_ADMIN_TOKEN: adminToken,
      MILLRACE_WORKER_TOKEN: randomBytes(12).toString('hex'),
    }),
  );
  await reachable(url);
  return { url, keys, adminToken };
}

function start(flags: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const child = spawn(process.execPath, [MILLRACE, ...flags, '--log-level=error'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    // A line per finished job would hide what the demonstration itself says; errors go to stderr.
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onExit(() => child.kill('SIGTERM'));
  return child;
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

const reachable = (url: string): Promise<unknown> =>
  until(() => answers(url), { what: `an answer from ${url}`, withinMs: START_MS, everyMs: 100 });

/** The last one started is stopped first: the development server owns the database. */
async function stopAll(children: readonly ChildProcess[]): Promise<void> {
  for (const child of [...children].reverse()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }
}
