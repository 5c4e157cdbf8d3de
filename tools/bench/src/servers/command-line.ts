import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onExit, until } from '@millrace/tools-shared';
import { ROOT } from '../env/machine.js';
import { freePort } from '../env/ports.js';
import { TENANT, TENANT_KEY, WORKER_TOKEN } from '../work.js';

/** The service as an operator runs it: the binary, real credentials, an external database, a quiet log. */
export interface Server {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

const BINARY = join(ROOT, 'packages', 'cli', 'bin', 'millrace.mjs');
const START_MS = 20_000;

export async function startMillrace(databaseUrl: string, mode: 'all' | 'api', processes = 1): Promise<Server> {
  const [port, metricsPort] = await Promise.all([freePort(), freePort()]);
  const flags = {
    mode,
    processes: String(processes),
    host: '127.0.0.1',
    'api-port': String(port),
    'metrics-port': String(metricsPort),
    'log-level': 'warn',
    'log-format': 'json',
  };
  const child = spawn(
    process.execPath,
    [BINARY, ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)],
    {
      // Nothing else, so that no environment variable of the caller influences the service.
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: databaseUrl,
        MILLRACE_API_KEYS: `${TENANT_KEY}:${TENANT}`,
        MILLRACE_WORKER_TOKEN: WORKER_TOKEN,
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  const forget = onExit(() => child.kill('SIGKILL'));
  await ready(port, () => child.exitCode !== null);
  return {
    port,
    pid: child.pid ?? -1,
    stop: async () => {
      forget();
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function ready(port: number, hasExited: () => boolean): Promise<void> {
  const isReady = async (): Promise<boolean> => {
    if (hasExited()) throw new Error('millrace exited before it was ready; see above');
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    return answer?.status === 200;
  };
  await until(isReady, { what: 'millrace to be ready', withinMs: START_MS });
}
