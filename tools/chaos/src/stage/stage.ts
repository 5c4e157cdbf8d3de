import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '@millrace/server/testing';
import { PATIENCE_MS, startProxy, until, type Proxy, type Random, type UntilOptions } from '@millrace/tools-shared';
import { ChaosClient } from '../history/client.js';
import { History } from '../history/history.js';
import { ACTOR_DEFAULTS, CREDENTIALS, startActor, type ActorKind, type ActorOptions } from './actors.js';
import { Cluster } from './cluster.js';
import { stretched } from './contention.js';
import type { Database, Host } from './database.js';
import type { ManagedProcess } from './processes.js';
import { ServerProcess, type ServerOptions } from './server.js';

export interface StageOptions {
  readonly dir: string;
  readonly random: Random;
  /** The command line under test. */
  readonly millrace: string;
  readonly sharedCluster: () => Promise<Cluster>;
}

/** Everything a row works with. Whatever is created here is removed when the row ends, however it ends. */
export class Stage {
  readonly history = new History();
  readonly random: Random;
  readonly violations: string[] = [];
  /** Printed under the table of outcomes. */
  readonly notes: string[] = [];
  /** Queues that the pool of a server works on: jobs there also end without a call. */
  readonly poolQueues = new Set<string>();
  readonly databases: Database[] = [];
  readonly #clusters: Cluster[] = [];
  readonly #processes: ManagedProcess[] = [];
  readonly #servers: ServerProcess[] = [];
  readonly #proxies: Proxy[] = [];
  readonly #journals: string[] = [];
  #named = 0;

  constructor(private readonly options: StageOptions) {
    this.random = options.random;
    mkdirSync(options.dir, { recursive: true });
  }

  /** A folder of this row, removed with everything else. */
  folder(name: string): string {
    const path = join(this.options.dir, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** The command line under test. */
  get millrace(): string {
    return this.options.millrace;
  }

  /** Reports something wrong that the invariants do not cover. */
  violation(message: string): void {
    this.violations.push(message);
  }

  note(text: string): void {
    this.notes.push(text);
  }

  /** Reports a violation if the condition does not hold. */
  expect(holds: boolean, message: string): void {
    if (!holds) this.violation(message);
  }

  /**
   * Reports a violation if something took too long. The limit is stretched if the machine was busy with other work
   * meanwhile, which is the last `lastMs` milliseconds unless it was longer ago.
   */
  expectWithin(limitMs: number, tookMs: number, what: string, lastMs = tookMs): void {
    if (tookMs <= limitMs) return;
    const most = stretched(limitMs, lastMs);
    if (tookMs > most) {
      this.violation(`${what}: ${Math.round(tookMs)} ms, at most ${limitMs} (${Math.round(most)} on this machine)`);
    }
  }

  /** A PostgreSQL for this row alone, which it may crash. */
  async cluster(settings: Settings = {}): Promise<Cluster> {
    const cluster = await Cluster.create(join(this.options.dir, `pg${this.#clusters.length + 1}`), settings);
    this.#clusters.push(cluster);
    return cluster;
  }

  /** A migrated database, on the given cluster or on the one that all rows share. */
  async database({ on, empty = false }: { on?: Cluster; empty?: boolean } = {}): Promise<Database> {
    const database = await (on ?? (await this.options.sharedCluster())).createDatabase({ empty });
    this.databases.push(database);
    return database;
  }

  /**
   * A running server. In the modes `all` and `worker` its pool works on its default queue, `default` unless `args` say
   * otherwise.
   */
  async server(options: ServerOptions): Promise<ServerProcess> {
    return this.prepareServer(options).start();
  }

  /** The same, not yet started. */
  prepareServer(options: ServerOptions): ServerProcess {
    const { mode = 'all', args = [] } = options;
    const name = options.name ?? this.#name(`server-${mode}`);
    const queue = args.find((arg) => arg.startsWith('--default-queue='))?.split('=')[1] ?? 'default';
    if (mode !== 'api') this.poolQueues.add(queue);
    const { dir, millrace } = this.options;
    const server = new ServerProcess(name, options, {
      dir,
      millrace,
      onUnexpectedExit: (text) => this.violation(text),
    });
    this.#servers.push(server);
    return server;
  }

  /** A proxy between servers and the database; pass its `url` to a server. */
  async proxy(database: Database): Promise<Proxy> {
    const proxy = await startProxy(database.url);
    this.#proxies.push(proxy);
    return proxy;
  }

  /** A client in this process, as tenant and as worker. The target may be a function that returns the current URL. */
  client(
    target: ServerProcess | (() => string),
    { timeoutMs, tenantKey }: { timeoutMs?: number; tenantKey?: string } = {},
  ): ChaosClient {
    const url = typeof target === 'function' ? target : () => target.url;
    const journal = this.history;
    return new ChaosClient({
      name: this.#name('client'),
      url,
      journal,
      ...CREDENTIALS,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(tenantKey !== undefined && { tenantKey }),
    });
  }

  /** A remote worker in a process of its own. */
  worker(options: ActorOptions): ManagedProcess {
    return this.#actor('worker', options);
  }

  /** The same with the worker of the SDK; its log says which jobs it has begun and ended. */
  sdkWorker(options: ActorOptions): ManagedProcess {
    return this.#actor('sdk-worker', options);
  }

  /** The worker of the SDK with a durable handler; its log says which steps it runs, and what stands for them. */
  durableWorker(options: ActorOptions): ManagedProcess {
    return this.#actor('durable-worker', options);
  }

  /** The SDK under test with jobs that have children; its log says which steps it runs, and what stands for them. */
  familyWorker(options: ActorOptions): ManagedProcess {
    return this.#actor('family-worker', options);
  }

  /** A process that creates jobs until it has made as many as asked for. */
  producer(options: ActorOptions): ManagedProcess {
    return this.#actor('producer', options);
  }

  /** Adds what the actors have recorded so far to the history; may be called repeatedly. */
  readJournals(): void {
    for (const journal of this.#journals) this.history.load(journal);
  }

  /** Options that give a server a wrong clock; the plan is a list of [after this many ms, off by this many ms]. */
  clock(plan: readonly (readonly [number, number])[]): Required<Pick<ServerOptions, 'nodeArgs' | 'env'>> {
    const preload = new URL('../preload/clock.js', import.meta.url).href;
    return { nodeArgs: ['--import', preload], env: { CHAOS_CLOCK: JSON.stringify(plan) } };
  }

  /** Declares that the database may be unreachable while `body` runs, which makes 503 an acceptable answer. */
  async outage<T>(body: () => Promise<T>): Promise<T> {
    const end = this.history.beginOutage();
    try {
      return await body();
    } finally {
      end();
    }
  }

  /** Waits for every job to end. A row does this last, unless it wants some jobs left over. */
  async drained(database: Database, withinMs = PATIENCE_MS): Promise<void> {
    const probe = async (): Promise<true | string> => {
      const live = await database.liveJobs();
      return live === 0 || `${live} jobs left`;
    };
    await this.until(probe, { what: 'every job to end', withinMs, everyMs: 100 });
  }

  until<T>(probe: () => Promise<T> | T, options?: UntilOptions): ReturnType<typeof until<T>> {
    return until(probe, options);
  }

  sleep(ms: number): Promise<void> {
    return sleep(ms);
  }

  /** Kills everything that runs; the databases stay, to be examined. */
  async stopProcesses(): Promise<void> {
    const servers = this.#servers.filter((server) => server.isAlive).map((server) => server.process);
    await Promise.all(
      [...servers, ...this.#processes].filter(({ isAlive }) => isAlive).map((process) => process.kill()),
    );
    await Promise.all(this.#proxies.splice(0).map((proxy) => proxy.close()));
    this.readJournals();
  }

  async dispose(): Promise<void> {
    await this.stopProcesses();
    const own = new Set<Host>(this.#clusters);
    for (const database of this.databases) if (!own.has(database.host)) await database.drop();
    await Promise.all(this.#clusters.map((cluster) => cluster.dispose()));
  }

  #actor(kind: ActorKind, options: ActorOptions): ManagedProcess {
    const name = this.#name(kind);
    const journal = join(this.options.dir, `${name}.journal`);
    this.#journals.push(journal);
    const settings = { ...ACTOR_DEFAULTS, ...CREDENTIALS, queue: 'remote', ...options };
    const process = startActor(
      kind,
      {
        ...settings,
        name,
        journal,
        sdk: join(this.millrace, '../../../sdk'),
        seed: this.random.fork(name).integer(0, 0xffff_ffff),
      },
      (text) => this.violation(text),
    );
    this.#processes.push(process);
    return process;
  }

  #name(kind: string): string {
    this.#named += 1;
    return `${kind}-${this.#named}`;
  }
}
