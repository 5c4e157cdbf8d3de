import { MILLRACE, readMetrics, startProgram, startService, type LogLine } from '@millrace/tools-shared';
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

const ERROR_LEVEL = 50;
const STOP_MS = 20_000;
const MAX_ERRORS_KEPT = 20;

export interface TargetOptions {
  readonly databaseUrl: string;
  readonly callers: Callers;
  readonly maxBodyBytes: number;
}

export async function startTarget({ databaseUrl, callers, maxBodyBytes }: TargetOptions): Promise<Target> {
  const errors: string[] = [];
  const { apiUrl, metricsUrl, isAlive, end } = await startService(
    {
      flags: ['--shutdown-secs=2', `--max-body-bytes=${maxBodyBytes}`],
      env: {
        DATABASE_URL: databaseUrl,
        MILLRACE_API_KEYS: callers.tenants.map(({ name, token }) => `${token}:${name}`).join(','),
        MILLRACE_JWT_SECRET: callers.jwtSecret,
        MILLRACE_WORKER_TOKEN: callers.workerToken,
        MILLRACE_ADMIN_TOKEN: callers.adminToken,
      },
    },
    (line, text) => {
      if (isFault(line) && errors.length < MAX_ERRORS_KEPT) errors.push(text.slice(0, 2000));
    },
  );
  return {
    apiUrl,
    port: Number(new URL(apiUrl).port),
    memory: () => memoryOf(metricsUrl),
    isAlive,
    errors: () => errors,
    stop: async () => {
      // A server that hangs does not react to SIGTERM.
      const impatience = setTimeout(() => void end('SIGKILL'), STOP_MS);
      const { code } = await end();
      clearTimeout(impatience);
      return code;
    },
  };
}

/** A job that fails for good is the tenant's affair. */
const isFault = ({ level, msg }: LogLine): boolean => isError(level) && !msg?.includes('dead letter');

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
  const { child, exited } = startProgram({
    script: MILLRACE,
    args: ['doctor'],
    env: { DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  return (await exited).code === 0 ? null : output;
}
