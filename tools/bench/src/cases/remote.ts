import { perRound, scoped, type Scope } from '../bench.js';
import type { RawMethods } from '../contenders/raw.js';
import type { RoutesMethods } from '../servers/routes.js';
import { preload } from './drains.js';

const WORKERS = 4;
const CONNECTIONS_EACH = 16;
/** Workers with one call per hundred jobs, each with two calls under way: a quarter of the others' connections. */
const GATHERING_WORKERS = 8;
/** The other loop holds a hundred jobs that it reports and a hundred that it leases meanwhile. */
const SDK_SLOTS = 200;
const CONNECTIONS = WORKERS * CONNECTIONS_EACH;

/**
 * Remote workers lease a hundred jobs at a time. They complete them one by one, compared with requests to an empty
 * route; or with one call, compared with the former and with the statements that lie below it; or with a loop written
 * by hand, compared with the SDK, which does all of that for them.
 */
export const remote = perRound(async (scope) => {
  await oneByOne(scope);
  await scoped(scope.bench, together);
  await scoped(scope.bench, withFetch);
  await scoped(scope.bench, withSdk);
  await scoped(scope.bench, statements);
});

async function oneByOne(scope: Scope): Promise<void> {
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
}

async function together(scope: Scope): Promise<void> {
  const { bench } = scope;
  const jobs = bench.scale.jobs.remoteBatched;
  const database = await scope.database('millrace');
  await preload(scope, database, jobs);
  const { port } = await scope.millrace(database, 'api');
  const done = await scope.load().call('work', { port, workers: GATHERING_WORKERS, connectionsEach: null, jobs });
  bench.results.record('remote-batched.millrace', done.perSecond);
  bench.results.record('remote-batched-p50.millrace', done.p50);
  bench.results.record('remote-batched-p99.millrace', done.p99);
}

async function withFetch(scope: Scope): Promise<void> {
  const { bench } = scope;
  const jobs = bench.scale.jobs.remoteBatched;
  const database = await scope.database('millrace');
  await preload(scope, database, jobs);
  const { port } = await scope.millrace(database, 'api');
  const perSecond = await scope.load().call('workWithFetch', { port, workers: GATHERING_WORKERS, jobs });
  bench.results.record('remote-fetch.millrace', perSecond);
}

async function withSdk(scope: Scope): Promise<void> {
  const { bench } = scope;
  const jobs = bench.scale.jobs.remoteBatched;
  const database = await scope.database('millrace');
  await preload(scope, database, jobs);
  const { port } = await scope.millrace(database, 'api');
  const work = { port, workers: GATHERING_WORKERS, slots: SDK_SLOTS, jobs };
  const perSecond = await scope.load().call('workWithSdk', work);
  bench.results.record('remote-sdk.millrace', perSecond);
}

async function statements(scope: Scope): Promise<void> {
  const { bench } = scope;
  const jobs = bench.scale.jobs.remoteBatched;
  const database = await scope.database('millrace');
  const raw = scope.child<RawMethods>('contenders/raw.js');
  await raw.call('open', { databaseUrl: database.url });
  await raw.call('enqueue', jobs);
  await bench.postgres.settle(database);
  const { perSecond } = await raw.call('leaseAndComplete', jobs);
  bench.results.record('remote-batched.raw', perSecond);
}
