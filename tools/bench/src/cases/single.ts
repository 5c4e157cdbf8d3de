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
  const measure = async (key: string, port: number, connections: number): Promise<void> => {
    const target = { port, connections, what: 'single' as const };
    const { perSecond, p50, p99 } = await load.call('rate', { ...target, windowMs, warmupMs });
    bench.results.record(`single.${key}.${connections}`, perSecond);
    bench.results.record(`single-p50.${key}.${connections}`, p50);
    bench.results.record(`single-p99.${key}.${connections}`, p99);
  };
  for (const connections of MANY) {
    await measure('millrace', server.port, connections);
    await measure('route', routes.route, connections);
  }
  await measureKeys(scope, server.port);
  await measure('empty', routes.empty, 64);
  await measure('route', routes.route, 1);
  // These three are compared with each other, so they are measured one right after another.
  await measure('empty', routes.empty, 1);
  await measure('millrace', server.port, 1);
  await rawInserts(scope, database.url);
});

/**
 * What a key on each create costs, as the SDK sends it. With and without take turns, each first as often as second: the
 * speed of a machine, and of a program that has just begun to do something, changes within a minute.
 */
async function measureKeys(scope: Scope, port: number): Promise<void> {
  const { results, scale } = scope.bench;
  const { windowMs, warmupMs } = scale;
  const client = scope.load();
  const rates = { keyed: 0, single: 0 };
  for (const what of ['keyed', 'single', 'single', 'keyed'] as const) {
    rates[what] += (await client.call('rate', { port, connections: 64, what, windowMs, warmupMs })).perSecond / 2;
  }
  results.record('single.keyed.64', rates.keyed);
  results.record('single.unkeyed.64', rates.single);
}

async function rawInserts(scope: Scope, databaseUrl: string): Promise<void> {
  const raw = scope.child<RawMethods>('contenders/raw.js');
  await raw.call('open', { databaseUrl });
  const { p50, p99 } = await raw.call('insertSingly', scope.bench.scale.latencySamples * 2);
  scope.bench.results.record('single-p50.raw.1', p50);
  scope.bench.results.record('single-p99.raw.1', p99);
  await raw.stop();
}
