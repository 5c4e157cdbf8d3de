import { ManagedProcess, type ProcessSpec } from './processes.js';
import type { Database } from './database.js';

export const TENANT_KEY = 'chaos-tenant-key';
export const WORKER_TOKEN = 'chaos-worker-token';

export interface ServerOptions {
  readonly database: Database;
  /** `all` by default. */
  readonly mode?: 'all' | 'api' | 'worker';
  /** In place of the database's own URL, for example by way of a proxy. */
  readonly databaseUrl?: string;
  /** In place of one database: the file that lists them. */
  readonly cells?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeArgs?: readonly string[];
  readonly name?: string;
  /** The command line of another version, in place of the one under test. */
  readonly program?: string;
}

export interface ServerHome {
  readonly millrace: string;
  readonly dir: string;
  onUnexpectedExit(message: string): void;
}

/** A server of the built command line. It keeps its ports across restarts, as it would behind a service manager. */
export class ServerProcess {
  #process: ManagedProcess | null = null;
  #ports = { api: 0, metrics: 0 };
  #starts = 0;
  #program: string;

  constructor(
    readonly name: string,
    private readonly options: ServerOptions,
    private readonly home: ServerHome,
  ) {
    this.#program = options.program ?? home.millrace;
  }

  /** From the next start on it runs another version. */
  useProgram(path: string): void {
    this.#program = path;
  }

  get process(): ManagedProcess {
    if (this.#process === null) throw new Error(`${this.name} was not started`);
    return this.#process;
  }

  get isAlive(): boolean {
    return this.#process?.isAlive ?? false;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#ports.api}`;
  }

  get metricsUrl(): string {
    return `http://127.0.0.1:${this.#ports.metrics}`;
  }

  /** Resolves once it listens. */
  async start(): Promise<this> {
    const process = this.launch();
    const line = await process.logged('listening');
    const portOf = (url: unknown): number => (typeof url === 'string' ? Number(new URL(url).port) : 0);
    this.#ports = { api: portOf(line.api), metrics: portOf(line.metrics) };
    return this;
  }

  /** Starts it without waiting for anything. */
  launch(): ManagedProcess {
    this.#starts += 1;
    this.#process = new ManagedProcess(this.#spec(), (message) => this.home.onUnexpectedExit(message));
    return this.#process;
  }

  /** kill -9, then a restart on the same ports. */
  async crashAndRestart(): Promise<void> {
    await this.process.kill();
    await this.start();
  }

  #spec(): ProcessSpec {
    const {
      database,
      mode = 'all',
      databaseUrl = database.url,
      cells,
      args = [],
      env = {},
      nodeArgs = [],
    } = this.options;
    return {
      name: this.name,
      script: this.#program,
      nodeArgs,
      args: [
        `--mode=${mode}`,
        `--api-port=${this.#ports.api}`,
        `--metrics-port=${this.#ports.metrics}`,
        '--host=127.0.0.1',
        '--log-format=json',
        ...args,
      ],
      env: {
        // Such as the size of the heap: what whoever runs the suite gives to all of Node is meant for servers too.
        ...(process.env.NODE_OPTIONS !== undefined && { NODE_OPTIONS: process.env.NODE_OPTIONS }),
        ...(cells === undefined ? { DATABASE_URL: databaseUrl } : { MILLRACE_CELLS: cells }),
        MILLRACE_API_KEYS: `${TENANT_KEY}:chaos`,
        MILLRACE_WORKER_TOKEN: WORKER_TOKEN,
        // As variables, so that a row can override them by flag.
        MILLRACE_MAX_DB_CONNECTIONS: '6',
        MILLRACE_SHUTDOWN_SECS: '10',
        ...env,
      },
      logFile: `${this.home.dir}/${this.name}-${this.#starts}.log`,
    };
  }
}
