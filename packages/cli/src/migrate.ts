import { createLogger, migrate, parseDatabaseConfig, startEmbedded, type MigrationReport } from '@millrace/server';
import type { Invocation } from './invocation.js';

/** Brings the schema up to date, for those who do not let the service do it at its start. */
export async function migrateCommand({ argv, env, isTTY, print }: Invocation): Promise<number> {
  const { database, logLevel, logFormat } = parseDatabaseConfig(argv, env, { isTTY });
  if (database.kind === 'url') {
    report(await migrate(database.url), print);
    return 0;
  }
  const embedded = await startEmbedded({
    dir: database.dir,
    log: createLogger({ level: logLevel, format: logFormat }),
  });
  try {
    report(await migrate(embedded.url), print);
    return 0;
  } finally {
    await embedded.stop();
  }
}

function report({ applied, current }: MigrationReport, print: (text: string) => void): void {
  for (const name of applied) print(`applied ${name}`);
  print(`the schema is at version ${current}${applied.length === 0 ? '; there was nothing to do' : ''}`);
}
