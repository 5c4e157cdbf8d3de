import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '@millrace/server';
import { addressOf, ensureRunning, postmasterState, prepareLaunch, readPassword } from '@millrace/server/testing';
import { onExit, until } from '@millrace/tools-shared';
import pg from 'pg';

/** A PostgreSQL of our own, with the schema, that can go away and come back. */
export interface Cluster {
  readonly url: string;
  query<R extends object>(text: string): Promise<R[]>;
  /** Like a crash: sessions are dropped, nothing is written, and the next start recovers. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function startCluster(dir: string): Promise<Cluster> {
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  const dataDir = join(dir, 'pgdata');
  const { launch } = await prepareLaunch(dataDir, join(dir, 'postgres.log'), { max_wal_size: '4GB' });
  const { url } = addressOf(dataDir, readPassword(dataDir));
  onExit(() => quit(dataDir));
  const start = (): Promise<unknown> => ensureRunning(launch);
  await start();
  await migrate(url);
  return {
    url,
    query: (text) => query(url, text),
    stop: async () => {
      quit(dataDir);
      await until(() => postmasterState(dataDir).kind === 'absent', { what: 'PostgreSQL to stop', withinMs: 60_000 });
    },
    start: async () => {
      await start();
    },
  };
}

function quit(dataDir: string): void {
  const state = postmasterState(dataDir);
  if (state.kind !== 'absent') process.kill(state.process.pid, 'SIGQUIT');
}

async function query<R extends object>(url: string, text: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows as R[];
  } finally {
    await client.end();
  }
}
