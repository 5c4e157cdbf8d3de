import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../telemetry/logger.js';
import { addressOf } from './address.js';
import { readPassword } from './data-directory.js';
import { EmbeddedError } from './errors.js';
import { prepareLaunch } from './launch.js';
import { withLock } from './lock.js';
import { addProcessFile, liveProcessFiles, newProcessFileId, removeProcessFile } from './process-files.js';
import { ensureRunning, stopPostmaster, stopPostmasterUnattended, type Launch } from './postmaster.js';
import type { Settings } from './settings.js';
import { supervise } from './supervisor.js';

export { EmbeddedError } from './errors.js';

/**
 * A PostgreSQL of our own, for development and small installations: real, durable, private to this machine's user.
 *
 * Any number of processes share one directory. Each registers as a user of it before it looks at the server and
 * unregisters when it stops; the last one to leave stops the server. All of that happens under one lock, so nobody
 * joins a server that is being stopped. A killed process no longer counts as a user; if it was the last, the server
 * keeps running, and the next start finds and uses it.
 *
 *   DIR/pgdata         the data directory, which also holds the password and the socket
 *   DIR/postgres.log   the server's log
 *   DIR/users          one file per process that uses the database
 *   DIR/lock           the tickets of the lock
 */
export interface EmbeddedOptions {
  readonly dir: string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Added to the settings in settings.ts; for tests, which may trade durability for speed. */
  readonly settings?: Settings;
}

export interface Embedded {
  readonly url: string;
  /** Whether this call started the server, rather than joining a running one. */
  readonly owner: boolean;
  stop(): Promise<void>;
}

export async function startEmbedded({ dir, log, settings = {} }: EmbeddedOptions): Promise<Embedded> {
  const paths = preparePaths(dir);
  const onWait = (): void => {
    log.info({ dir }, 'waiting for another process that is starting or stopping the embedded PostgreSQL');
  };
  const joined = await withLock(paths.lock, () => enter(paths, { log, settings }), { onWait });
  const address = addressOf(paths.data, readPassword(paths.data));
  const supervisor = supervise(joined.launch, paths.lock, log);
  const abandon = (): void => {
    address.release();
    abandonServer(paths, joined.use);
  };
  process.once('exit', abandon);
  let stopped: Promise<void> | undefined;
  return {
    url: address.url,
    owner: joined.owner,
    stop: () =>
      (stopped ??= (async () => {
        process.off('exit', abandon);
        await supervisor.stop();
        address.release();
        await withLock(paths.lock, () => leave(paths, joined.use, log));
      })()),
  };
}

interface Paths {
  readonly data: string;
  readonly log: string;
  readonly users: string;
  readonly lock: string;
}

function preparePaths(dir: string): Paths {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    // By its real path: two paths to one directory must mean one database.
    const home = realpathSync(dir);
    const users = join(home, 'users');
    mkdirSync(users, { recursive: true, mode: 0o700 });
    return { data: join(home, 'pgdata'), log: join(home, 'postgres.log'), users, lock: join(home, 'lock') };
  } catch (error) {
    throw new EmbeddedError(`cannot use ${dir} for the embedded database: ${(error as Error).message}`);
  }
}

interface Joined {
  readonly use: string;
  readonly owner: boolean;
  readonly launch: Launch;
}

async function enter(paths: Paths, { log, settings }: Required<Omit<EmbeddedOptions, 'dir'>>): Promise<Joined> {
  const use = addProcessFile(paths.users, newProcessFileId(), 'user');
  try {
    const { launch, isNew } = await prepareLaunch(paths.data, paths.log, settings);
    const { copiedTo } = launch.binaries;
    if (copiedTo) log.info({ dir: copiedTo }, 'embedded PostgreSQL runs from a copy of its programs');
    if (isNew) log.info({ dir: paths.data }, 'embedded PostgreSQL initialised');
    const owner = await ensureRunning(launch);
    log.info({ dir: paths.data }, owner ? 'embedded PostgreSQL started' : 'joined the running embedded PostgreSQL');
    return { use, owner, launch };
  } catch (error) {
    removeProcessFile(paths.users, use);
    throw error;
  }
}

async function leave(paths: Paths, use: string, log: EmbeddedOptions['log']): Promise<void> {
  removeProcessFile(paths.users, use);
  if (liveProcessFiles(paths.users).length > 0) {
    log.info('embedded PostgreSQL keeps running for the processes that still use it');
    return;
  }
  await stopPostmaster(paths.data);
  log.info('embedded PostgreSQL stopped');
}

/**
 * The same for a process that exits without stop(): there is no time to lock or to wait. If another process joins at
 * that very moment, its supervisor starts the server again.
 */
function abandonServer(paths: Paths, use: string): void {
  removeProcessFile(paths.users, use);
  if (liveProcessFiles(paths.users).length === 0) stopPostmasterUnattended(paths.data);
}
