import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, readlinkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from './account.js';
import type { Binaries } from './binaries.js';
import { pathForPrograms } from './data-directory.js';
import { EmbeddedError } from './errors.js';
import { identify, isAlive, type ProcessIdentity } from './processes.js';
import { CLEAN_ENVIRONMENT } from './run.js';
import { PORT, toArguments, type Settings } from './settings.js';

/**
 * The server process, identified by the file that PostgreSQL keeps in its data directory. Its states:
 *
 *   absent    no file, or the file names a dead process or one of another program that has reused the pid
 *   starting  recovering or opening; will become ready or exit
 *   ready     accepts connections
 *   stopping  will exit
 *
 * Changed only under the lock of the directory (lock.ts), read at any time.
 */
export type PostmasterState =
  { readonly kind: 'absent' } | { readonly kind: 'starting' | 'ready' | 'stopping'; readonly process: ProcessIdentity };

const POLL_MS = 20;
/** Crash recovery replays at most twice max_wal_size; if it takes minutes even on a slow disk, something is wrong. */
const START_DEADLINE_MS = 300_000;
const FAST_STOP_MS = 60_000;
const IMMEDIATE_STOP_MS = 10_000;
/** Children of a killed postmaster soon notice its death; until then they hold its shared memory. */
const ORPHANS_LEAVE_MS = 15_000;
const LARGE_LOG_BYTES = 10 * 1024 * 1024;

export function postmasterState(dataDir: string): PostmasterState {
  const lines = readLines(join(dataDir, 'postmaster.pid'));
  const process = identify(Number(lines[0]));
  if (process === null || !isPostgresOf(process.pid, dataDir)) return { kind: 'absent' };
  switch (lines[7]?.trim()) {
    case 'ready':
      return { kind: 'ready', process };
    case 'stopping':
      return { kind: 'stopping', process };
    default:
      return { kind: 'starting', process };
  }
}

export interface Launch {
  readonly dataDir: string;
  readonly logFile: string;
  readonly binaries: Binaries;
  readonly account: Account | null;
  readonly settings: Settings;
}

/** Resolves once the server accepts connections; to true if this call started it. */
export async function ensureRunning(launch: Launch): Promise<boolean> {
  const deadline = Date.now() + START_DEADLINE_MS;
  const orphanDeadline = Date.now() + ORPHANS_LEAVE_MS;
  let started: Attempt | null = null;
  while (Date.now() < deadline) {
    const state = postmasterState(launch.dataDir);
    if (state.kind === 'ready') return started !== null;
    if (state.kind === 'absent') {
      if (started?.hasExited() && (!started.metOrphans() || Date.now() > orphanDeadline)) throw started.failure();
      if (started === null || started.hasExited()) {
        await clearLockFiles(launch.dataDir);
        started = attempt(launch);
      }
    }
    await sleep(POLL_MS);
  }
  throw new EmbeddedError(
    `the embedded PostgreSQL is not ready after ${START_DEADLINE_MS / 60_000} minutes; see ${launch.logFile}`,
  );
}

/** Fast shutdown: ends all sessions and writes everything. */
export async function stopPostmaster(dataDir: string): Promise<void> {
  const state = postmasterState(dataDir);
  if (state.kind === 'absent') return;
  signal(state.process, 'SIGINT');
  if (await gone(state.process, FAST_STOP_MS)) return;
  signal(state.process, 'SIGQUIT'); // as safe as a power cut: the next start replays the log
  if (await gone(state.process, IMMEDIATE_STOP_MS)) return;
  throw new EmbeddedError(`the embedded PostgreSQL (pid ${state.process.pid}) does not stop`);
}

/** For a process that is exiting and cannot wait: requests a fast shutdown and returns. */
export function stopPostmasterUnattended(dataDir: string): void {
  const state = postmasterState(dataDir);
  if (state.kind === 'ready' || state.kind === 'starting') signal(state.process, 'SIGINT');
}

/**
 * Removes the lock files of a dead server. PostgreSQL removes them itself only if no process at all has that pid, but a
 * zombie or an unrelated process may. Its separate check for children of the dead server that still use its memory
 * stays in force. Neither can see a server in another container on the same directory, so we try its socket first.
 */
async function clearLockFiles(dataDir: string): Promise<void> {
  const socket = join(dataDir, `.s.PGSQL.${PORT}`);
  if (await accepts(socket)) {
    throw new EmbeddedError(
      `${dataDir} is in use by a server that cannot be seen from here, perhaps in another container`,
    );
  }
  for (const file of [join(dataDir, 'postmaster.pid'), `${socket}.lock`]) rmSync(file, { force: true });
}

function accepts(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (accepted: boolean): void => {
      connection.destroy();
      resolve(accepted);
    };
    const connection = connect(socket)
      .on('connect', () => answer(true))
      .on('error', () => answer(false));
  });
}

interface Attempt {
  hasExited(): boolean;
  metOrphans(): boolean;
  failure(): EmbeddedError;
}

function attempt({ dataDir, logFile, binaries, account, settings }: Launch): Attempt {
  const log = openLog(logFile);
  const from = statSync(logFile).size;
  let exited = false;
  let spawnError = '';
  const child = spawn(binaries.postgres, ['-D', pathForPrograms(dataDir, account), ...toArguments(settings)], {
    cwd: dataDir,
    env: CLEAN_ENVIRONMENT,
    stdio: ['ignore', log, log],
    // Its own session: Ctrl-C in the terminal must not reach it, because we need the database to finish our work.
    detached: true,
    ...account,
  });
  closeSync(log);
  child.on('exit', () => (exited = true));
  child.on('error', (error) => {
    exited = true;
    spawnError = error.message;
  });
  child.unref();
  const written = (): string => readFileSync(logFile).subarray(from).toString('utf8');
  return {
    hasExited: () => exited,
    metOrphans: () => /shared memory block .* is still in use/.test(written()),
    failure: () => {
      const fatal = written()
        .split('\n')
        .filter((line) => /FATAL|PANIC|error while loading/.test(line));
      return new EmbeddedError(
        `the embedded PostgreSQL did not start: ${spawnError || (fatal.at(-1) ?? 'no reason given')}; see ${logFile}`,
      );
    },
  };
}

function openLog(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LARGE_LOG_BYTES) renameSync(path, `${path}.1`);
  return openSync(path, 'a', 0o600);
}

/** The server's working directory is its data directory. A shell may be there too, but it is not a postgres. */
function isPostgresOf(pid: number, dataDir: string): boolean {
  try {
    if (process.platform !== 'linux') {
      return basename(execFileSync('ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' }).trim()).startsWith(
        'postgres',
      );
    }
    const program = basename(readlinkSync(`/proc/${pid}/exe`));
    return program.startsWith('postgres') && readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dataDir);
  } catch {
    return false;
  }
}

async function gone(process: ProcessIdentity, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (isAlive(process)) {
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

function signal({ pid }: ProcessIdentity, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
