import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '@millrace/server';
import {
  addressOf,
  ensureRunning,
  postmasterState,
  prepareLaunch,
  readPassword,
  stopPostmaster,
  type Launch,
  type Settings,
} from '@millrace/server/testing';
import { allProcesses, onExit, until } from '@millrace/tools-shared';
import { Database, query } from './database.js';

/**
 * A PostgreSQL that may be crashed. fsync is off: only processes are killed here, never the machine, and the kernel
 * keeps what a process has written. synchronous_commit stays on: without it a commit would not even be handed to the
 * kernel.
 */
const FAST: Settings = { fsync: 'off', max_wal_size: '8GB', shared_buffers: '64MB', max_connections: '300' };
const TEMPLATE = 'chaos_template';

export class Cluster {
  private constructor(
    /** The URL of the maintenance database, as a superuser. */
    readonly url: string,
    readonly launch: Launch,
    private readonly release: () => void,
  ) {}

  /** Creates and starts one under `dir`, with a migrated template database. */
  static async create(dir: string, settings: Settings = {}): Promise<Cluster> {
    mkdirSync(dir, { recursive: true, mode: 0o755 });
    const dataDir = join(dir, 'pgdata');
    const { launch } = await prepareLaunch(dataDir, join(dir, 'postgres.log'), { ...FAST, ...settings });
    const address = addressOf(dataDir, readPassword(dataDir));
    const forget = onExit(() => signalPostmaster(dataDir, 'SIGQUIT'));
    const cluster = new Cluster(address.url, launch, () => {
      forget();
      address.release();
    });
    await cluster.start();
    await cluster.query(`CREATE DATABASE ${TEMPLATE}`);
    await migrate(cluster.#urlOf(TEMPLATE));
    return cluster;
  }

  /** Resolves once it accepts connections. */
  async start(): Promise<void> {
    await ensureRunning(this.launch);
  }

  /** `immediate` is like a crash: sessions are dropped, nothing is written, and the next start recovers. */
  async stop(how: 'immediate' | 'fast'): Promise<void> {
    if (how === 'fast') return stopPostmaster(this.launch.dataDir);
    signalPostmaster(this.launch.dataDir, 'SIGQUIT');
    await until(() => postmasterState(this.launch.dataDir).kind === 'absent', { what: 'PostgreSQL to stop' });
  }

  /** Stops all of its processes: it keeps its connections, and answers nothing. */
  pause(): void {
    signalAll(this.launch.dataDir, 'SIGSTOP');
  }

  resume(): void {
    signalAll(this.launch.dataDir, 'SIGCONT');
  }

  async crashAndRestart(downMs: number): Promise<void> {
    await this.stop('immediate');
    await sleep(downMs);
    await this.start();
  }

  /** Creates a database with the schema, or an empty one. */
  async createDatabase({ empty = false }: { readonly empty?: boolean } = {}): Promise<Database> {
    const name = `chaos_${randomBytes(6).toString('hex')}`;
    await this.query(`CREATE DATABASE ${name} TEMPLATE ${empty ? 'template0' : TEMPLATE}`);
    return new Database(this, name, this.#urlOf(name));
  }

  query<R extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]> {
    return query<R>(this.url, text, values);
  }

  async dispose(): Promise<void> {
    await this.stop('immediate');
    this.release();
  }

  #urlOf(database: string): string {
    const url = new URL(this.url);
    url.pathname = `/${database}`;
    return url.href;
  }
}

function signalPostmaster(dataDir: string, signal: NodeJS.Signals): void {
  const state = postmasterState(dataDir);
  if (state.kind !== 'absent') process.kill(state.process.pid, signal);
}

function signalAll(dataDir: string, signal: NodeJS.Signals): void {
  const state = postmasterState(dataDir);
  if (state.kind === 'absent') return;
  const { pid } = state.process;
  for (const each of [{ pid }, ...allProcesses().filter(({ parent }) => parent === pid)])
    process.kill(each.pid, signal);
}
