import { PATIENCE_MS } from '@millrace/tools-shared';
import { QUICK } from '../stage/actors.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

/** Waits until every one of the servers has created a job; resolves to how many milliseconds that took. */
export async function untilServing(
  stage: Stage,
  servers: readonly ServerProcess[],
  withinMs = PATIENCE_MS,
): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(
    servers.map((server) => {
      const client = stage.client(server);
      const creates = async (): Promise<boolean> => (await client.create('echo', { config: QUICK })).status === 201;
      return stage.until(creates, { what: `${server.name} to serve again`, withinMs });
    }),
  );
  return performance.now() - startedAt;
}
