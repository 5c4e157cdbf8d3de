import type { ChaosClient } from '../history/client.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

/** Two servers on one database, neither of which runs jobs itself, with a client for each. */
export interface ApiPair {
  readonly database: Database;
  readonly servers: readonly [ServerProcess, ServerProcess];
  readonly clients: readonly [ChaosClient, ChaosClient];
}

export async function startApiPair(stage: Stage): Promise<ApiPair> {
  const database = await stage.database();
  const servers = [
    await stage.server({ database, mode: 'api' }),
    await stage.server({ database, mode: 'api' }),
  ] as const;
  return { database, servers, clients: [stage.client(servers[0]), stage.client(servers[1])] };
}
