import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onExit, readMetrics } from '@millrace/tools-shared';
import type { Callers } from './tenants.js';

/** The server under test: a process of its own, as it would run in production. */
export interface Target {
  readonly apiUrl: string;
  readonly port: number;
  /** Read from its own metrics; null if they do not answer. */
  memory(): Promise<MemoryUse | null>;
  isAlive(): boolean;
  /** Its log lines at level error or above. */
  errors(): readonly string[];
  stop(): Promise<number | null>;
}

/** In bytes. */
export interface MemoryUse {
  /** In use on the heap and outside it, including garbage that is not collected yet. */
  readonly live: number;
  /** What the operating system counts. */
  readonly resident: number;
}

const MILLRACE = fileURLToPath(new URL('../../../packages/cli/bin/millrace.mjs', import.meta.url));
const ERROR_LEVEL = 50;
const STOP_MS = 20_000;
const MAX_ERRORS_KEPT = 20;

export interface TargetOptions {
  readonly databaseUrl: string;
  readonly callers: Callers;
  readonly maxBodyBytes: number;
}

const environment = (databaseUrl: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  DATABASE_URL: databaseUrl,
});

export async function startTarget({ databaseUrl, callers, maxBodyBytes }: TargetOptions): Promise<Target> {
  const keys = callers.tenants.map(({ name, token }) => `${token}:${name}`).join(',');
  const flags = ['--host=127.0.0.1', '--api-port=0', '--metrics-port=0', '--log-format=json', '--shutdown-secs=2'];
  const child = spawn(process.execPath, [MILLRACE, ...flags, `--max-body-bytes=${maxBodyBytes}`], {
    env: {
      ...environment(databaseUrl),
      MILLRACE_API_KEYS: keys,
      MILLRACE_JWT_SECRET: callers.jwtSecret,
      MILLRACE_WORKER_TOKEN: callers.workerToken,
      MILLRACE_ADMIN_TOKEN: callers.adminToken,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const forget = onExit(() => child.kill('SIGKILL'));
  const exited = once(child, 'close').finally(forget);
  const errors: string[] = [];
  const { api: apiUrl, metrics } = await watchLog(child, errors);
  return {
    apiUrl,
    port: Number(new URL(apiUrl).port),
    memory: () => memoryOf(metrics),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    errors: () => errors,
    stop: async () => {
      child.kill('SIGTERM');
      // A server that hangs does not react to SIGTERM.
      const impatience = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(impatience);
      return child.exitCode;
    },
  };
}

interface Addresses {
  readonly api: string;
  readonly metrics: string;
}

/**
 * Resolves to the addresses once the server is listening. Keeps reading, or the pipe would fill up and block the
 * server.
 */
function watchLog({ stdout }: ChildProcess, errors: string[]): Promise<Addresses> {
  if (stdout === null) throw new Error('the server has no log to read');
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stdout });
    lines.on('line', (line) => {
      if (!line.startsWith('{')) return;
      const { level, msg, ...rest } = JSON.parse(line) as { level?: number | string; msg?: string };
      if (msg === 'listening') resolve(rest as Addresses);
      // A job that fails for good is the tenant's affair.
      const isFault = isError(level) && !msg?.includes('dead letter');
      if (isFault && errors.length < MAX_ERRORS_KEPT) errors.push(line.slice(0, 2000));
    });
    lines.on('close', () => reject(new Error('the server exited before it was listening')));
  });
}

const isError = (level: number | string | undefined): boolean =>
  typeof level === 'number' ? level >= ERROR_LEVEL : level === 'error' || level === 'fatal';

async function memoryOf(metricsUrl: string): Promise<MemoryUse | null> {
  try {
    const metric = await readMetrics(metricsUrl);
    return {
      live: metric('nodejs_heap_size_used_bytes') + metric('nodejs_external_memory_bytes'),
      resident: metric('process_resident_memory_bytes'),
    };
  } catch {
    return null;
  }
}

/** Runs `millrace doctor`: its output if an invariant does not hold, or null. */
export async function examine(databaseUrl: string): Promise<string | null> {
  const child = spawn(process.execPath, [MILLRACE, 'doctor'], {
    env: environment(databaseUrl),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0 ? null : output;
}
