import { afterAll, expect, inject } from 'vitest';
import { parseConfig, type Config } from '../../src/config/config.js';
import type { Deadlines } from '../../src/store/connection/session.js';
import { startServer, type Intervals, type RunningServer, type ServerOptions } from '../../src/server.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { DEADLINE_MS } from '@millrace/tools-shared';
import { listIn } from './cells.js';
import { createClient, type Client } from './client.js';
import { cloneDatabase, type TestDatabase } from './database.js';
import { connectionOf, MAX_OF_EACH } from './pooled.js';
import { until } from './until.js';

export const TENANT_A = 'tenant-a';
export const TENANT_B = 'tenant-b';
export const KEY_A = 'key-of-tenant-a-5f1c';
export const KEY_B = 'key-of-tenant-b-9d2e';
export const WORKER_TOKEN = 'token-of-the-workers-71aa';
export const ADMIN_TOKEN = 'token-of-the-operator-3c0d';
export const JWT_SECRET = 'a-secret-for-hs256-tokens-of-some-length';
const SECRETS = [KEY_A, KEY_B, WORKER_TOKEN, ADMIN_TOKEN, JWT_SECRET];

export interface TestServerOptions extends Pick<ServerOptions, 'handlers' | 'intervals'> {
  /** Overrides the defaults below. */
  readonly config?: Partial<Config>;
  /** If absent: its own clone, dropped at the end. */
  readonly database?: TestDatabase;
}

export interface TestServer {
  readonly url: string;
  readonly metricsUrl: string;
  readonly database: TestDatabase;
  readonly config: Config;
  readonly a: Client;
  readonly b: Client;
  readonly worker: Client;
  readonly admin: Client;
  /** Sends no token. */
  readonly nobody: Client;
  as(token: string): Client;
  /** Every line logged so far, parsed. */
  log(): readonly Record<string, unknown>[];
  stop(): Promise<void>;
}

/** The configuration of a test server: free ports on the loopback interface, two tenants, every credential. */
export function testConfig(databaseUrl: string, overrides: Partial<Config> = {}): Config {
  const list = listIn(databaseUrl);
  const flags = {
    'api-port': '0',
    'metrics-port': '0',
    host: '127.0.0.1',
    'api-keys': `${KEY_A}:${TENANT_A},${KEY_B}:${TENANT_B}`,
    'jwt-secret': JWT_SECRET,
    'worker-token': WORKER_TOKEN,
    'admin-token': ADMIN_TOKEN,
    ...(list === null ? databaseFlags(databaseUrl) : { cells: list, 'max-db-connections': MAX_OF_EACH }),
    // A stop waits for what runs, and on a slow machine that takes a while.
    'shutdown-secs': '120',
  };
  const argv = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  return { ...parseConfig(argv, {}, { isTTY: false }), ...overrides };
}

function databaseFlags(databaseUrl: string): Record<string, string> {
  const { url, pooler, directUrl } = connectionOf(databaseUrl);
  return { 'database-url': url, pooler, ...(directUrl !== null && { 'direct-database-url': directUrl }) };
}

/** They end hangs, later than a test's patience does: how slow the machine is must not decide. */
export const ENDLESS: Deadlines = {
  connectMs: DEADLINE_MS,
  turnMs: DEADLINE_MS,
  hotTimeoutMs: DEADLINE_MS,
  hotMs: DEADLINE_MS,
  readTimeoutMs: DEADLINE_MS,
  readMs: DEADLINE_MS,
};

/**
 * Where databases are several, a claim passes over one that takes longer than a second, and its jobs come later: on a
 * machine that is held up, any of them.
 */
export const PATIENT: Intervals = { patienceMs: 10_000, deadlines: ENDLESS };

/** The service in this process. Stopping it checks that it leaves nothing behind and has logged no secret. */
export async function startTestServer({
  config: overrides,
  database,
  handlers,
  intervals = {},
}: TestServerOptions = {}): Promise<TestServer> {
  const own = database ?? (await cloneDatabase());
  const config = testConfig(own.url, overrides);
  const lines: string[] = [];
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    destination: { write: (line) => void lines.push(line) },
  });
  const release = handlesToRelease();
  const options = { logger, ...(handlers && { handlers }), intervals: { ...PATIENT, ...intervals } };
  const running = await startServer(config, options);
  const url = running.apiUrl ?? 'http://no-api-in-worker-mode.invalid';
  return {
    url,
    metricsUrl: running.metricsUrl,
    database: own,
    config,
    a: createClient(url, KEY_A),
    b: createClient(url, KEY_B),
    worker: createClient(url, WORKER_TOKEN),
    admin: createClient(url, ADMIN_TOKEN),
    nobody: createClient(url, null),
    as: (token) => createClient(url, token),
    log: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    stop: once(async () => {
      await running.stop();
      await release();
      if (database === undefined) await own.drop();
      for (const secret of SECRETS) expect(lines.filter((line) => line.includes(secret))).toEqual([]);
    }),
  };
}

/** For a test file that shares one server: stopped, and checked, after its last test. */
export async function useTestServer(options?: TestServerOptions): Promise<TestServer> {
  const server = await startTestServer(options);
  afterAll(() => server.stop());
  return server;
}

/** What /ready says. It answers 503 where the database took its time: wherever this machine is held up. */
export const readyBody = ({ nobody }: Pick<TestServer, 'nobody'>): Promise<any> =>
  until(
    async () => {
      const { status, body, text } = await nobody.get('/ready');
      return status === 200 ? body : text;
    },
    { what: 'the server to be ready' },
  );

export type { RunningServer };

const once = (body: () => Promise<void>): (() => Promise<void>) => {
  let done: Promise<void> | undefined;
  return () => (done ??= body());
};

/**
 * Listeners and sockets that keep this process alive. Connections to the database are pipes, and those are looked at
 * when it is dropped: what other files of this process left behind does not count there.
 */
function openHandles(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (/Server|Socket/.test(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** What was open before the first of the servers that run now; null while none does. */
let baseline: ReadonlyMap<string, number> | null = null;
let runningServers = 0;

/** To be called once the server has stopped. Of several that ran at a time, the last one finds what is left open. */
function handlesToRelease(): () => Promise<void> {
  const before = (baseline ??= openHandles());
  runningServers++;
  return async () => {
    if (--runningServers > 0) return;
    baseline = null;
    // Connections to a pooler look like those of clients.
    if (inject('poolerPort') === null) await expectReleased(before);
  };
}

async function expectReleased(before: ReadonlyMap<string, number>): Promise<void> {
  await until(
    () => {
      const more = [...openHandles()].filter(([kind, count]) => count > (before.get(kind) ?? 0));
      return more.length === 0 || `left open: ${more.map(([kind, count]) => `${count} ${kind}`).join(', ')}`;
    },
    { what: 'the stopped server to release its handles' },
  );
}
