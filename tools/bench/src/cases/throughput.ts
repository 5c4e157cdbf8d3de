import { perRound, scoped, type Bench, type Scope } from '../bench.js';
import type { ContenderMethods } from '../contenders/contender.js';
import type { Child } from '../env/child.js';
import type { BenchDatabase } from '../env/postgres.js';
import { treeCpuSeconds } from '../env/processes.js';
import type { DrainReport } from '../progress.js';
import type { EmbeddingMethods } from '../servers/embedding.js';
import { BATCH, CALLS_IN_FLIGHT } from '../work.js';

/** As in a drain, an extra fifth goes first and does not count: code that has just been loaded is slow. */
const warmJobs = (jobs: number): number => Math.ceil(jobs / 5 / BATCH) * BATCH;

interface Contender {
  readonly script: string;
  /** How many jobs are added while measuring; null if that is measured elsewhere. */
  readonly added: number | null;
  /** How many jobs are drained. */
  readonly jobs: number;
  readonly enqueueKey: string;
  readonly drainKey: string;
  readonly drain: 'drain' | 'drainTuned';
  readonly schema: 'millrace' | 'empty';
}

const contender = (name: string, jobs: number, differently: Partial<Contender> = {}): Contender => ({
  script: `contenders/${name}.js`,
  added: null,
  jobs,
  enqueueKey: name,
  drainKey: name,
  drain: 'drain',
  schema: 'empty',
  ...differently,
});

/**
 * Batch enqueue and drain: the same jobs, first added in batches of a thousand, then run by a handler that does
 * nothing. Millrace is called over HTTP and keeps every result; the others are called as libraries, in the fastest way
 * they offer.
 *
 * All add the same number of jobs, except BullMQ, which would take too long; how many are drained depends on the speed.
 */
export const throughput = perRound(async ({ bench }) => {
  const { jobs } = bench.scale;
  const added = jobs.millrace;
  await contend(bench, contender('raw', jobs.raw, { schema: 'millrace', added }));
  await millrace(bench);
  const tuned = { drain: 'drainTuned', drainKey: 'graphile-tuned' } as const;
  await contend(bench, contender('graphile', jobs.graphileTuned, { ...tuned, added }));
  await contend(bench, contender('graphile', jobs.graphilePlain, { drainKey: 'graphile-plain' }));
  await contend(bench, contender('pg-boss', jobs.pgBoss, { added }));
  const large = { drain: 'drainTuned', drainKey: 'pg-boss-large' } as const;
  await contend(bench, contender('pg-boss', jobs.pgBoss, large));
  if (bench.river !== null) await contend(bench, contender('river', jobs.river, { added }));
  if (bench.redis !== null) await contend(bench, contender('bullmq', jobs.bullmq, { added: jobs.bullmq }));
});

async function contend(bench: Bench, contender: Contender): Promise<void> {
  const { jobs, added, enqueueKey, drainKey, drain } = contender;
  if (added !== null && added !== jobs) {
    await withContender(bench, contender, (child, _scope, database) =>
      measureEnqueue(bench, child, database, enqueueKey, added),
    );
  }
  await withContender(bench, contender, async (child, scope, database) => {
    if (added === jobs) await measureEnqueue(bench, child, database, enqueueKey, jobs);
    else await child.call('enqueue', jobs + warmJobs(jobs));
    await bench.postgres.settle(database);
    await recordDrain(scope, drainKey, () => child.call(drain, jobs + warmJobs(jobs)));
  });
}

type Methods = ContenderMethods & { drainTuned: ContenderMethods['drain'] };
type ContenderChild = Child<Methods>;

function withContender(
  bench: Bench,
  { script, schema }: Contender,
  work: (child: ContenderChild, scope: Scope, database: BenchDatabase) => Promise<void>,
): Promise<void> {
  return scoped(bench, async (scope) => {
    const database = await scope.database(schema);
    const child = scope.child<Methods>(script);
    const { redis, river } = bench;
    const others = { redisPort: redis?.port ?? null, riverProgram: river?.program ?? null };
    await child.call('open', { databaseUrl: database.url, ...others });
    await work(child, scope, database);
  });
}

async function measureEnqueue(
  bench: Bench,
  child: ContenderChild,
  database: BenchDatabase,
  key: string,
  jobs: number,
): Promise<void> {
  await child.call('enqueue', warmJobs(jobs));
  await bench.postgres.settle(database);
  const ms = await child.call('enqueue', jobs);
  bench.results.record(`enqueue.${key}`, (jobs / ms) * 1000);
}

function millrace(bench: Bench): Promise<void> {
  return scoped(bench, async (scope) => {
    const jobs = bench.scale.jobs.millrace;
    const database = await scope.database('millrace');
    const server = await scope.millrace(database, 'api');
    const load = scope.load();
    const target = { port: server.port, connections: CALLS_IN_FLIGHT, what: 'batch' as const };
    await load.call('count', { ...target, count: warmJobs(jobs) / BATCH });
    await bench.postgres.settle(database);
    const ms = await load.call('count', { ...target, count: jobs / BATCH });
    bench.results.record('enqueue.millrace', (jobs / ms) * 1000);
    await server.stop();
    await bench.postgres.settle(database);
    const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
    await recordDrain(scope, 'millrace', () =>
      embedding.call('drain', { url: database.url, jobs: jobs + warmJobs(jobs) }),
    );
  });
}

async function recordDrain({ bench }: Scope, key: string, drain: () => Promise<DrainReport>): Promise<void> {
  const cpuBefore = treeCpuSeconds(bench.postgres.pid);
  const report = await drain();
  const postgresSeconds = treeCpuSeconds(bench.postgres.pid) - cpuBefore;
  bench.results.record(`drain.${key}`, report.perSecond);
  bench.results.record(`drain-node-cpu.${key}`, report.nodeMicrosPerJob);
  if (key !== 'bullmq') bench.results.record(`drain-postgres-cpu.${key}`, (postgresSeconds / report.jobs) * 1e6);
}
