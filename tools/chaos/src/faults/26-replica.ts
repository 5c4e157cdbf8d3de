import { execFile, spawn } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { CLEAN_ENVIRONMENT, pathForPrograms, readPassword, type Launch } from '@millrace/server/testing';
import { onExit } from '../stage/exit.js';
import { startRelay, type Relay } from './26-relay.js';

const USER = 'millrace';
const SOCKET = '.s.PGSQL.5432';
/** Belongs to the server that runs, not to its data. */
const OF_THE_PROCESS = ['postmaster.pid', 'postmaster.opts', SOCKET, `${SOCKET}.lock`];

/**
 * One PostgreSQL of a pair. A standby is made from a running primary by the backup functions of PostgreSQL and a copy of its files, as its
 * own program for that would do, which is not among the embedded ones.
 */
export class Replica {
  readonly #forget: () => void;

  private constructor(
    readonly launch: Launch,
    /** A standby reaches its primary through this; its account may not be able to walk to the socket. */
    private readonly line: Relay,
  ) {
    this.#forget = onExit(() => this.#signalAll('SIGKILL'));
  }

  /** One that runs already. From now on it lets others follow it. */
  static async adopt(launch: Launch): Promise<Replica> {
    const hba = join(launch.dataDir, 'pg_hba.conf');
    if (!readFileSync(hba, 'utf8').includes('replication'))
      appendFileSync(hba, 'local replication all scram-sha-256\n');
    const replica = new Replica(launch, await startRelay(join(launch.dataDir, SOCKET)));
    await replica.query('SELECT pg_reload_conf()');
    return replica;
  }

  get socketPath(): string {
    return join(this.launch.dataDir, SOCKET);
  }

  /** Resolves once the new one follows, and no commit here is acknowledged before it is there as well. */
  async createStandby(dataDir: string): Promise<Replica> {
    await this.#copyTo(dataDir);
    const { binaries, account, settings } = this.launch;
    const logFile = `${dataDir}.log`;
    const launch: Launch = { dataDir, logFile, binaries, account, settings };
    const password = readPassword(this.launch.dataDir);
    const primary = `host=127.0.0.1 port=${this.line.port} user=${USER} password=${password} application_name=standby`;
    // Not what the primary was told about its own standbys: once promoted, this one has none.
    writeOwned(join(dataDir, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`, launch);
    writeOwned(join(dataDir, 'standby.signal'), '', launch);
    start(launch);
    const standby = new Replica(launch, await startRelay(join(dataDir, SOCKET)));
    await this.#until(`SELECT FROM pg_stat_replication WHERE application_name = 'standby' AND state = 'streaming'`);
    await this.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
    await this.query('SELECT pg_reload_conf()');
    await this.#until(`SELECT FROM pg_stat_replication WHERE application_name = 'standby' AND sync_state = 'sync'`);
    return standby;
  }

  /** kill -9 of all its processes: nothing more is written, nothing more is answered. */
  async kill(): Promise<void> {
    this.#forget();
    this.#signalAll('SIGKILL');
    await this.line.close();
  }

  async promote(): Promise<void> {
    await this.query('SELECT pg_promote(true, 30)');
  }

  async query(text: string): Promise<readonly Record<string, unknown>[]> {
    const client = await this.#connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  async #copyTo(dataDir: string): Promise<void> {
    const client = await this.#connect();
    try {
      await client.query(`SELECT pg_backup_start('standby', true)`);
      await copyDirectory(this.launch.dataDir, dataDir);
      const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
      for (const name of OF_THE_PROCESS) rmSync(join(dataDir, name), { force: true });
      writeOwned(join(dataDir, 'backup_label'), rows[0]?.labelfile ?? '', this.launch);
    } finally {
      await client.end();
    }
  }

  async #connect(): Promise<pg.Client> {
    const { dataDir } = this.launch;
    const client = new pg.Client({ host: dataDir, user: USER, password: readPassword(dataDir), database: 'postgres' });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async #until(question: string): Promise<void> {
    const deadline = performance.now() + 60_000;
    while ((await this.query(question)).length === 0) {
      if (performance.now() > deadline) throw new Error(`waited 60 s for: ${question}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #signalAll(signal: NodeJS.Signals): void {
    const [first] = readFileSync(join(this.launch.dataDir, 'postmaster.pid'), 'utf8').split('\n');
    const postmaster = Number(first);
    // It stands still while its children are counted, and dies before them, or it would begin a recovery.
    send(postmaster, 'SIGSTOP');
    for (const pid of [postmaster, ...childrenOf(postmaster)]) send(pid, signal);
  }
}

/** Of files that are in use: some go away meanwhile, which is no failure. */
function copyDirectory(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('cp', ['-a', from, to], { env: { ...process.env, LC_ALL: 'C' } }, (_error, _stdout, stderr) => {
      const failures = stderr.split('\n').filter((line) => line !== '' && !line.includes('No such file or directory'));
      if (failures.length === 0) resolve();
      else reject(new Error(`cannot copy ${from}: ${failures.join('; ')}`));
    });
  });
}

function start({ dataDir, logFile, binaries, account, settings }: Launch): void {
  const log = openSync(logFile, 'a');
  const parameters = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  spawn(binaries.postgres, ['-D', pathForPrograms(dataDir, account), ...parameters], {
    cwd: dataDir,
    env: CLEAN_ENVIRONMENT,
    stdio: ['ignore', log, log],
    detached: true,
    ...account,
  }).unref();
  closeSync(log);
}

function writeOwned(path: string, text: string, { account }: Launch): void {
  writeFileSync(path, text, { mode: 0o600 });
  if (account) chownSync(path, account.uid, account.gid);
}

function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === parent);
}

/** The second field after the name, which stands in brackets and may hold anything. */
function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
