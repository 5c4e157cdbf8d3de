import { afterAll } from 'vitest';
import type { Config } from '../../../src/config/config.js';
import { cloneDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer, type TestServer } from '../../support/server.js';

export interface Pair {
  readonly database: TestDatabase;
  readonly one: TestServer;
  readonly two: TestServer;
}

/** Two servers on one database. They share nothing else, as two processes would. */
export async function usePair(config: Partial<Config>): Promise<Pair> {
  const database = await cloneDatabase();
  const one = await startTestServer({ database, config });
  const two = await startTestServer({ database, config });
  afterAll(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await database.drop();
  });
  return { database, one, two };
}
