import { startQuietService, type Program } from '@millrace/tools-shared';
import { freePort } from '../env/ports.js';
import { TENANT, TENANT_KEY, WORKER_TOKEN } from '../work.js';

/** The service as an operator runs it: the binary, real credentials, an external database, a quiet log. */
export interface Server extends Pick<Program, 'pid'> {
  readonly port: number;
  stop(): Promise<void>;
}

const START_MS = 20_000;

export async function startMillrace(databaseUrl: string, mode: 'all' | 'api', processes = 1): Promise<Server> {
  const port = await freePort();
  const { pid, end } = await startQuietService({
    port,
    flags: [`--mode=${mode}`, `--processes=${processes}`, '--log-level=warn', '--log-format=json'],
    env: {
      DATABASE_URL: databaseUrl,
      MILLRACE_API_KEYS: `${TENANT_KEY}:${TENANT}`,
      MILLRACE_WORKER_TOKEN: WORKER_TOKEN,
    },
    stdout: 'inherit',
    withinMs: START_MS,
  });
  return {
    port,
    pid,
    stop: async () => {
      await end();
    },
  };
}
