import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../env/machine.js';
import { freePort } from '../env/ports.js';
import { TENANT, TENANT_KEY, WORKER_TOKEN } from '../work.js';

/** The product as an operator runs it: the binary, real credentials, an external database, a quiet log. */
export interface Server {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

const BINARY = join(ROOT, 'packages', 'cli', 'bin', 'millrace.mjs');
const START_MS = 20_000;

export async function startMillrace(databaseUrl: string, mode: 'all' | 'api'): Promise<Server> {
  const [port, metricsPort] = await Promise.all([freePort(), freePort()]);
  const flags = {
    mode,
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
      // Nothing but this: no variable of whoever runs the benchmark decides how the product behaves.
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: databaseUrl,
        MILLRACE_API_KEYS: `${TENANT_KEY}:${TENANT}`,
        MILLRACE_WORKER_TOKEN: WORKER_TOKEN,
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  await ready(port, () => child.exitCode !== null);
  return {
    port,
    pid: child.pid ?? -1,
    stop: async () => {
      process.off('exit', kill);
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function ready(port: number, hasExited: () => boolean): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    if (hasExited()) throw new Error('millrace ended before it was ready; see above');
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    if (answer?.status === 200) return;
    await sleep(20);
  }
  throw new Error(`millrace is not ready after ${START_MS / 1000} s`);
}
