import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Account } from './account.js';
import type { Binaries } from './binaries.js';
import { EmbeddedError } from './errors.js';
import { run } from './run.js';
import { DATABASE, HBA, SUPERUSER } from './settings.js';

/**
 * The data directory is complete or absent. It is made under another name, with its access rules, its role and its
 * database, and renamed at the very end; the next initialisation removes what a killed one left behind.
 */
export const PASSWORD_FILE = 'millrace-password';
const MAJOR_VERSION = '18';

/** The path by which a program that runs as `account` finds the directory it was started in. */
export function pathForPrograms(dir: string, account: Account | null): string {
  // Root may enter directories that the account may not, such as /root, and a path through them would be refused. The
  // working directory is inherited open, and this Linux name for it bypasses its parents.
  return account !== null && process.platform === 'linux' ? '/proc/self/cwd' : dir;
}

export async function ensureDataDirectory(
  dataDir: string,
  binaries: Binaries,
  account: Account | null,
): Promise<boolean> {
  if (existsSync(dataDir)) {
    checkVersion(dataDir);
    return false;
  }
  sweep(dataDir);
  const partial = mkdtempSync(partialPrefix(dataDir));
  chmodSync(partial, 0o700);
  if (account) chownSync(partial, account.uid, account.gid);
  await initialise(partial, binaries, account);
  renameSync(partial, dataDir);
  syncDirectory(dirname(dataDir));
  return true;
}

export const readPassword = (dataDir: string): string => readFileSync(join(dataDir, PASSWORD_FILE), 'utf8').trim();

function checkVersion(dataDir: string): void {
  const file = join(dataDir, 'PG_VERSION');
  if (!existsSync(file)) {
    throw new EmbeddedError(`${dataDir} is not a PostgreSQL data directory; move it away or use another --data-dir`);
  }
  const version = readFileSync(file, 'utf8').trim();
  if (version !== MAJOR_VERSION) {
    throw new EmbeddedError(
      `${dataDir} was made by PostgreSQL ${version}, and PostgreSQL ${MAJOR_VERSION} cannot read it; ` +
        `dump it with ${version} and load the dump into a new --data-dir`,
    );
  }
}

const partialPrefix = (dataDir: string): string => `${dataDir}.new-`;

function sweep(dataDir: string): void {
  const parent = dirname(dataDir);
  const prefix = basename(partialPrefix(dataDir));
  for (const name of readdirSync(parent)) {
    // Retried, because the initdb of a killed process may write there until it notices that its directory is gone.
    if (name.startsWith(prefix)) {
      rmSync(join(parent, name), { recursive: true, force: true, maxRetries: 50, retryDelay: 50 });
    }
  }
}

async function initialise(dir: string, binaries: Binaries, account: Account | null): Promise<void> {
  const path = pathForPrograms(dir, account);
  const step = async (what: string, program: string, args: readonly string[], input = ''): Promise<void> => {
    const { ok, stderr } = await run(program, args, { account, cwd: dir, input });
    if (!ok) {
      throw new EmbeddedError(`cannot ${what} the embedded database: ${stderr.trim().replaceAll(/\s*\n\s*/g, '; ')}`);
    }
  };
  const common = ['--encoding=UTF8', '--locale-provider=libc', '--locale=C', '--auth=reject', '--no-instructions'];
  await step('initialise', binaries.initdb, [`--pgdata=${path}`, `--username=${SUPERUSER}`, ...common]);

  const password = randomBytes(24).toString('hex');
  // On standard input, in single-user mode: every user of the machine could read the password on a command line.
  const quiet = ['-c', 'exit_on_error=on', '-c', 'log_min_error_statement=panic'];
  const statements = `ALTER ROLE ${SUPERUSER} PASSWORD '${password}'\nCREATE DATABASE ${DATABASE}\n`;
  await step('set up', binaries.postgres, ['--single', '-D', path, ...quiet, 'template1'], statements);
  writeOwned(join(dir, 'pg_hba.conf'), HBA, account);
  writeOwned(join(dir, PASSWORD_FILE), `${password}\n`, account);
  syncDirectory(dir);
}

function writeOwned(path: string, text: string, account: Account | null): void {
  const file = openSync(path, 'w', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  if (account) chownSync(path, account.uid, account.gid);
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
