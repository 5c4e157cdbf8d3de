import { createLogger, parseDatabaseConfig, startEmbedded } from '@millrace/server';
import type { Invocation } from '../invocation/invocation.js';

/** Works on the configured database without serving requests; starts the embedded one, or joins it if it is running. */
export async function withDatabase<T>({ argv, env, io }: Invocation, work: (url: string) => Promise<T>): Promise<T> {
  const { database, directDatabaseUrl, logLevel, logFormat } = parseDatabaseConfig(argv, env, {
    isTTY: io.terminal.stdout,
  });
  if (database.kind === 'url') return work(directDatabaseUrl ?? database.url);
  const embedded = await startEmbedded({
    dir: database.dir,
    log: createLogger({ level: logLevel, format: logFormat }),
  });
  try {
    return await work(embedded.url);
  } finally {
    await embedded.stop();
  }
}
