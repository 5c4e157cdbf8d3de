import { execFile, spawn } from 'node:child_process';
import { appendFileSync, chownSync, closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLEAN_ENVIRONMENT, pathForPrograms, readPassword, type Launch } from '@millrace/server/testing';
import { allProcesses, onExit, until } from '@millrace/tools-shared';
import pg from 'pg';
import { startRelay, type Relay } from './relay.js';

const USER = 'millrace';
const SOCKET = '.s.PGSQL.5432';
/** Files that belong to the running server rather than to its data. */
const PROCESS_FILES = ['postmaster.pid', 'postmaster.opts', SOCKET, `${SOCKET}.lock`];

/**
 * One PostgreSQL of a pair. A standby is made from a running primary with PostgreSQL's backup functions and a copy of
 * its files: what pg_basebackup does, which is not among the embedded programs.
 */
export class Replica {
  readonly #forget: () => void;

  private constructor(
    readonly launch: Launch,
    /** How a standby reaches its primary: its account may not have access to the directory of the socket. */
    private readonly relay: Relay,
  ) {
    this.#forget = onExit(() => this.#signalAll('SIGKILL'));
  }

  /** Takes over a server that is already running, and allows replication from it. */
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

  /**
   * Resolves once the standby follows synchronously: from then on no commit is acknowledged before it has arrived
   * there.
   */
  async createStandby(dataDir: string): Promise<Replica> {
    const standby = await this.createFollower(dataDir);
    await this.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
    await this.query('SELECT pg_reload_conf()');
    await this.#untilFound(
      `SELECT FROM pg_stat_replication WHERE application_name = 'standby' AND sync_state = 'sync'`,
    );
    return standby;
  }

  /** A standby for which nobody waits. Resolves once it follows. */
  async createFollower(dataDir: string): Promise<Replica> {
    await this.#copyTo(dataDir);
    const { binaries, account, settings } = this.launch;
    const logFile = `${dataDir}.log`;
    const launch: Launch = { dataDir, logFile, binaries, account, settings };
    const password = readPassword(this.launch.dataDir);
    const primary = `host=127.0.0.1 port=${this.relay.port} user=${USER} password=${password} application_name=standby`;
    // Replaces what the primary was told about its own standbys: once promoted, this one has none.
    writeOwned(join(dataDir, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`, launch);
    writeOwned(join(dataDir, 'standby.signal'), '', launch);
    start(launch);
    const standby = new Replica(launch, await startRelay(join(dataDir, SOCKET)));
    await this.#untilFound(
      `SELECT FROM pg_stat_replication WHERE application_name = 'standby' AND state = 'streaming'`,
    );
    return standby;
  }

  /** kill -9 of all its processes: from then on nothing is written and nothing is answered. */
  async kill(): Promise<void> {
    this.#forget();
    this.#signalAll('SIGKILL');
    await this.relay.close();
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
      for (const name of PROCESS_FILES) rmSync(join(dataDir, name), { force: true });
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

  async #untilFound(question: string): Promise<void> {
    const found = async (): Promise<boolean> => (await this.query(question)).length > 0;
    await until(found, { what: question, everyMs: 50 });
  }

  #signalAll(signal: NodeJS.Signals): void {
    const [first] = readFileSync(join(this.launch.dataDir, 'postmaster.pid'), 'utf8').split('\n');
    const postmaster = Number(first);
    // Stopped while its children are counted, and killed before them, or it would begin a recovery.
    send(postmaster, 'SIGSTOP');
    const children = allProcesses().filter(({ parent }) => parent === postmaster);
    for (const { pid } of [{ pid: postmaster }, ...children]) send(pid, signal);
  }
}

/** The files are in use: some disappear meanwhile, which is not a failure. */
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

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
