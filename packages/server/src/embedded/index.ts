import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../telemetry/logger.js';
import { chooseAccount } from './account.js';
import { addressOf } from './address.js';
import { findBinaries } from './binaries.js';
import { ensureDataDirectory, readPassword } from './data-directory.js';
import { EmbeddedError } from './errors.js';
import { withLock } from './lock.js';
import { addMember, liveMembers, newMemberId, removeMember } from './members.js';
import { ensureRunning, stopPostmaster, stopPostmasterUnattended, type Launch } from './postmaster.js';
import { SETTINGS, type Settings } from './settings.js';
import { supervise } from './supervisor.js';

export { EmbeddedError } from './errors.js';

/**
 * A PostgreSQL of our own, for development and for small installations: real, durable, private to this machine's user.
 *
 * Any number of processes share one directory. Each registers as a user of it before it looks at the server and
 * takes itself off the list when it stops; the one that leaves the list empty stops the server. All of that happens under one
 * lock, so nobody joins a server that is being stopped. A process that is killed counts as gone by itself; if it was the
 * last, the server runs on until the next start finds it and uses it.
 *
 *   DIR/pgdata         the data directory, with the password and the socket in it
 *   DIR/postgres.log   what the server says
 *   DIR/users          a file for each process that uses the database
 *   DIR/lock           tickets of the lock
 */
export interface EmbeddedOptions {
  readonly dir: string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Beyond the settings of settings.ts; for tests, which may trade durability for speed. */
  readonly settings?: Settings;
}

export interface Embedded {
  readonly url: string;
  /** Whether this call started the server, rather than joining a running one. */
  readonly owner: boolean;
  stop(): Promise<void>;
}

export async function startEmbedded({ dir, log, settings = {} }: EmbeddedOptions): Promise<Embedded> {
  const place = openPlace(dir);
  const onWait = (): void => {
    log.info({ dir }, 'waiting for another process that is starting or stopping the embedded PostgreSQL');
  };
  const joined = await withLock(place.lock, () => enter(place, { log, settings }), { onWait });
  const address = addressOf(place.data, readPassword(place.data));
  const supervisor = supervise(joined.launch, place.lock, log);
  const abandon = (): void => {
    address.release();
    abandonServer(place, joined.member);
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
        await withLock(place.lock, () => leave(place, joined.member, log));
      })()),
  };
}

interface Place {
  readonly data: string;
  readonly log: string;
  readonly users: string;
  readonly lock: string;
}

function openPlace(dir: string): Place {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    // By its real name: two ways to one directory must mean one database.
    const home = realpathSync(dir);
    const users = join(home, 'users');
    mkdirSync(users, { recursive: true, mode: 0o700 });
    return { data: join(home, 'pgdata'), log: join(home, 'postgres.log'), users, lock: join(home, 'lock') };
  } catch (error) {
    throw new EmbeddedError(`cannot use ${dir} for the embedded database: ${(error as Error).message}`);
  }
}

interface Joined {
  readonly member: string;
  readonly owner: boolean;
  readonly launch: Launch;
}

async function enter(place: Place, { log, settings }: Required<Omit<EmbeddedOptions, 'dir'>>): Promise<Joined> {
  const member = addMember(place.users, newMemberId(), 'user');
  try {
    const account = chooseAccount(place.data);
    const binaries = await findBinaries(account, join(place.data, '..'));
    if (binaries.copiedTo) log.info({ dir: binaries.copiedTo }, 'embedded PostgreSQL runs from a copy of its programs');
    if (await ensureDataDirectory(place.data, binaries, account))
      log.info({ dir: place.data }, 'embedded PostgreSQL initialised');
    const launch: Launch = {
      dataDir: place.data,
      logFile: place.log,
      binaries,
      account,
      settings: { ...SETTINGS, ...settings },
    };
    const owner = await ensureRunning(launch);
    log.info({ dir: place.data }, owner ? 'embedded PostgreSQL started' : 'joined the running embedded PostgreSQL');
    return { member, owner, launch };
  } catch (error) {
    removeMember(place.users, member);
    throw error;
  }
}

async function leave(place: Place, member: string, log: EmbeddedOptions['log']): Promise<void> {
  removeMember(place.users, member);
  if (liveMembers(place.users).length > 0) {
    log.info('embedded PostgreSQL left to the processes that still use it');
    return;
  }
  await stopPostmaster(place.data);
  log.info('embedded PostgreSQL stopped');
}

/**
 * The same for a process that ends without stop(), in whatever time an exit leaves: no lock, no waiting. Should somebody join in
 * that very moment, his supervisor starts the server again.
 */
function abandonServer(place: Place, member: string): void {
  removeMember(place.users, member);
  if (liveMembers(place.users).length === 0) stopPostmasterUnattended(place.data);
}
