import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

/** `/health` must be answered with 200 at any time, and soon. Resolves to how long it took. */
export async function probeHealth(stage: Stage, server: ServerProcess, withinMs: number): Promise<number> {
  const startedAt = performance.now();
  const status = await fetch(new URL('/health', server.url), { signal: AbortSignal.timeout(60_000) }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    () => null,
  );
  stage.expect(status === 200, `/health was answered ${status ?? 'not at all'}`);
  const tookMs = performance.now() - startedAt;
  stage.expectWithin(withinMs, tookMs, '/health');
  return tookMs;
}
