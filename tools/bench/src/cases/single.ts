import { perRound, type Scope } from '../bench.js';
import type { RawMethods } from '../contenders/raw.js';
import type { RoutesMethods } from '../servers/routes.js';

export const CONNECTIONS = [1, 64, 256] as const;
/** One connection comes last: by itself it would not send enough requests to warm up the server. */
const MANY = [64, 256] as const;

/**
 * Single enqueue over HTTP, durable before the answer, with different numbers of connections. Compared with the same
 * route over an engine that answers at once, with creates that carry an `Idempotency-Key` and, for one connection, with
 * the two things that have to happen: an insert and a request.
 */
export const single = perRound(async (scope) => {
  const { bench } = scope;
  const { windowMs, warmupMs } = bench.scale;
  const database = await scope.database('millrace');
  const server = await scope.millrace(database, 'api');
  const routes = await scope.child<RoutesMethods>('servers/routes.js').call('start');
  const load = scope.load();
  const measure = async (
    key: string,
    port: number,
    connections: number,
    what: 'single' | 'keyed' = 'single',
  ): Promise<void> => {
    const target = { port, connections, what };
    const { perSecond, p50, p99 } = await load.call('rate', { ...target, windowMs, warmupMs });
    bench.results.record(`single.${key}.${connections}`, perSecond);
    bench.results.record(`single-p50.${key}.${connections}`, p50);
    bench.results.record(`single-p99.${key}.${connections}`, p99);
  };
  for (const connections of MANY) {
    await measure('millrace', server.port, connections);
    await measure('route', routes.route, connections);
  }
  // What a key on each create costs, as the SDK sends it; the rate without keys is measured again right after it.
  await measure('keyed', server.port, 64, 'keyed');
  await measure('unkeyed', server.port, 64);
  await measure('empty', routes.empty, 64);
  await measure('route', routes.route, 1);
  // These three are compared with each other, so they are measured one right after another.
  await measure('empty', routes.empty, 1);
  await measure('millrace', server.port, 1);
  await rawInserts(scope, database.url);
});

async function rawInserts(scope: Scope, databaseUrl: string): Promise<void> {
  const raw = scope.child<RawMethods>('contenders/raw.js');
  await raw.call('open', { databaseUrl, redisPort: null });
  const { p50, p99 } = await raw.call('insertSingly', scope.bench.scale.latencySamples * 2);
  scope.bench.results.record('single-p50.raw.1', p50);
  scope.bench.results.record('single-p99.raw.1', p99);
  await raw.stop();
}
