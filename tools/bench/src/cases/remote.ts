import { perRound } from '../bench.js';
import type { RoutesMethods } from '../servers/routes.js';
import { preload } from './drains.js';

const WORKERS = 4;
const CONNECTIONS_EACH = 16;
const CONNECTIONS = WORKERS * CONNECTIONS_EACH;

/**
 * Remote workers lease a hundred jobs at a time and complete them one by one; compared with requests to an empty route.
 */
export const remote = perRound(async (scope) => {
  const { bench } = scope;
  const { windowMs, warmupMs, jobs } = bench.scale;
  const database = await scope.database('millrace');
  await preload(scope, database, jobs.remote);

  const routes = await scope.child<RoutesMethods>('servers/routes.js').call('start');
  const load = scope.load();
  const empty = { port: routes.empty, connections: CONNECTIONS, what: 'single' as const };
  const { perSecond } = await load.call('rate', { ...empty, windowMs, warmupMs });
  bench.results.record('remote.empty', perSecond);

  const { port } = await scope.millrace(database, 'api');
  const work = { port, workers: WORKERS, connectionsEach: CONNECTIONS_EACH, jobs: jobs.remote };
  const done = await load.call('work', work);
  bench.results.record('remote.millrace', done.perSecond);
  bench.results.record('remote-p50.millrace', done.p50);
  bench.results.record('remote-p99.millrace', done.p99);
});
