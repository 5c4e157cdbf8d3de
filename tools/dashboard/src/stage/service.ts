import { setTimeout as sleep } from 'node:timers/promises';
import { startService, type Program } from '@millrace/tools-shared';

export const TENANT_KEY = 'key-of-the-dashboard-run';
export const OTHER_KEY = 'key-of-another-tenant';
export const ADMIN_TOKEN = 'token-of-the-operator';
const WORKER_TOKEN = 'token-of-the-workers';

/** The service as a process of its own, on a port that it keeps. */
export class Service {
  #program: Program | null = null;
  #port = 0;

  constructor(private readonly databaseUrl: string) {}

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Resolves once it listens. */
  async start(): Promise<void> {
    const service = await startService({
      flags: [],
      port: this.#port,
      env: {
        DATABASE_URL: this.databaseUrl,
        MILLRACE_API_KEYS: `${TENANT_KEY}:acme,${OTHER_KEY}:globex`,
        MILLRACE_WORKER_TOKEN: WORKER_TOKEN,
        MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN,
      },
    });
    this.#program = service;
    this.#port = Number(new URL(service.apiUrl).port);
  }

  /** kill -9; resolves when it is gone. */
  kill = (): Promise<void> => this.#end('SIGKILL');

  stop = (): Promise<void> => this.#end('SIGTERM');

  async #end(signal: NodeJS.Signals): Promise<void> {
    const program = this.#program;
    this.#program = null;
    await program?.end(signal);
  }
}

/** Speaks to the service as a tenant or a worker does. A 503 is tried again when it says. */
export class Client {
  constructor(
    private readonly url: () => string,
    private readonly token: string,
  ) {}

  get = <T>(path: string): Promise<T> => this.#send<T>('GET', path);

  post = <T>(path: string, body: unknown): Promise<T> => this.#send<T>('POST', path, body);

  put = <T>(path: string, body: unknown): Promise<T> => this.#send<T>('PUT', path, body);

  async #send<T>(method: string, path: string, body?: unknown): Promise<T> {
    for (;;) {
      const headers: Record<string, string> = { authorization: `Bearer ${this.token}` };
      if (body !== undefined) headers['content-type'] = 'application/json';
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const init: RequestInit = body === undefined ? { method, headers } : { method, headers, body: text };
      const reply = await fetch(`${this.url()}/api/v1${path}`, init);
      if (reply.ok) return (await reply.json()) as T;
      if (reply.status !== 503 && reply.status !== 429) throw new Error(`${method} ${path}: ${await reply.text()}`);
      await reply.body?.cancel();
      await sleep(1000 * Number(reply.headers.get('retry-after') ?? 1));
    }
  }
}

export const workerOf = (url: () => string): Client => new Client(url, WORKER_TOKEN);
