import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onExit } from '@millrace/tools-shared';
import { Redis as Client } from 'ioredis';
import { isThere } from './install.js';
import { freePort } from './ports.js';

export interface Redis {
  readonly port: number;
  readonly version: string;
  stop(): Promise<void>;
}

/** As durable as PostgreSQL: nothing is acknowledged before it is on disk. Snapshots would only add noise. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];

/** Starts a Redis for this run; resolves to it, or to the reason why there is none. */
export async function startRedis(say: (text: string) => void): Promise<Redis | string> {
  if (!(await isThere('redis-server', say))) {
    return 'redis-server is not installed, and this user cannot install it: BullMQ is left out';
  }
  const dir = mkdtempSync(join(tmpdir(), 'millrace-bench-redis-'));
  const port = await freePort();
  const where = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--daemonize', 'no'];
  const child = spawn('redis-server', [...where, ...DURABLE], { stdio: 'ignore' });
  const kill = (): void => {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  };
  const forget = onExit(kill);
  const version = await answering(port, child);
  return {
    port,
    version,
    stop: async () => {
      forget();
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function answering(port: number, child: ChildProcess): Promise<string> {
  const client = new Client({ port, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  try {
    const info = await Promise.race([client.info('server'), once(child, 'exit'), sleep(10_000)]);
    if (typeof info !== 'string') throw new Error('redis-server did not start');
    return /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown';
  } finally {
    client.disconnect();
  }
}
