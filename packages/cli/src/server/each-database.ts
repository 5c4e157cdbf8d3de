import { createLogger, databasesOf, parseDatabaseConfig } from '@millrace/server';
import type { Invocation } from '../invocation/invocation.js';

/** What was done with a database of the configuration; the name is empty where there is only one. */
export interface Done<T> {
  readonly name: string;
  readonly result: T;
}

/**
 * Works on each configured database without serving requests; starts the embedded PostgreSQL, or joins it if it is
 * running.
 */
export async function eachDatabase<T>(
  { argv, env, io }: Invocation,
  work: (url: string) => Promise<T>,
): Promise<readonly Done<T>[]> {
  const config = parseDatabaseConfig(argv, env, { isTTY: io.terminal.stdout });
  const { logLevel: level, logFormat: format } = config;
  const stops: (() => Promise<void>)[] = [];
  try {
    const done: Done<T>[] = [];
    const { cells } = await databasesOf(config, {
      logger: createLogger({ level, format }),
      onStop: (stop) => stops.push(stop),
      waits: false,
    });
    for (const { name, url, directUrl } of cells) done.push({ name, result: await work(directUrl ?? url) });
    return done;
  } finally {
    for (const stop of stops) await stop();
  }
}
