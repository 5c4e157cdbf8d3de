import { setTimeout as sleep } from 'node:timers/promises';
import { bucketOf } from '@millrace/server/testing';
import { scoped, type Bench, type Case, type Scope } from '../bench.js';
import type { BenchDatabase } from '../env/postgres.js';
import { treeCpuSeconds } from '../env/processes.js';
import { latencyOf } from '../latency.js';
import { post } from '../load/connection.js';
import { DurableCalls } from '../load/durable-calls.js';
import type { EmbeddingMethods } from '../servers/embedding.js';
import { QUEUE, tenantName, WORKER_TOKEN } from '../work.js';
import { insertJobs, registerNames } from './growth/fill.js';
import { statementsPerSecond } from './idle.js';

/** On how many databases the service stands. */
export const CELL_COUNTS = [1, 4] as const;
type CellCount = (typeof CELL_COUNTS)[number];

const MOST = 4;
const BUCKETS = 65_536;
/** By then every loop has run once, so what a start asks for is not counted as idling. */
const SETTLE_MS = 12_000;
const LEASED_QUEUE = 'leased';
const LEASE = post(
  `/api/v1/queues/${LEASED_QUEUE}/lease`,
  WORKER_TOKEN,
  JSON.stringify({ max_jobs: 1, lease_secs: 600, wait_secs: 0 }),
);

/** The same tenants everywhere: one for each of the four. */
const TENANTS = Array.from({ length: MOST }, (_, place) => {
  for (let n = 0; ; n++) if (Math.floor((bucketOf(tenantName(n)) * MOST) / BUCKETS) === place) return tenantName(n);
});

/**
 * Four databases of one PostgreSQL beside a single one, with the same jobs of the same tenants, in turn: what it costs
 * to be spread, on a machine that does not grow with it.
 */
export const cells: Case = async (bench) => {
  // Idle statements are the same in every round, and take minutes to count.
  let counted = false;
  return {
    round: async () => {
      for (const count of CELL_COUNTS) await drainFrom(bench, count);
      for (const count of CELL_COUNTS) await leaseFrom(bench, count);
      if (!counted) for (const count of CELL_COUNTS) await idleOn(bench, count);
      counted = true;
    },
  };
};

/** With this many jobs in all. */
async function databasesWith(scope: Scope, count: CellCount, queue: string, jobs: number): Promise<BenchDatabase[]> {
  const each = MOST / count;
  const databases: BenchDatabase[] = [];
  for (let n = 0; n < count; n++) {
    const database = await scope.database('millrace');
    const range = [(n * BUCKETS) / count, ((n + 1) * BUCKETS) / count - 1];
    await database.query('UPDATE millrace.cell SET first_bucket = $1, last_bucket = $2', range);
    await registerNames(database, TENANTS.slice(n * each, (n + 1) * each));
    const rows = { queue, tenants: each, startMs: Date.now() - 600_000, stepMs: 0.01 * count };
    await insertJobs(database, 'waiting', { ...rows, count: Math.ceil(jobs / count) });
    await scope.bench.postgres.settle(database);
    databases.push(database);
  }
  return databases;
}

const urlOf = (databases: readonly BenchDatabase[]): string => databases.map(({ url }) => url).join(' ');

function drainFrom(bench: Bench, count: CellCount): Promise<void> {
  return scoped(bench, async (scope) => {
    const jobs = bench.scale.jobs.millrace;
    const databases = await databasesWith(scope, count, QUEUE, jobs);
    const cpuBefore = treeCpuSeconds(bench.postgres.pid);
    const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
    const report = await embedding.call('drainOfAnyTenants', { url: urlOf(databases), jobs });
    const postgresMicros = ((treeCpuSeconds(bench.postgres.pid) - cpuBefore) / jobs) * 1e6;
    bench.results.record(`cells.${count}`, report.perSecond);
    bench.results.record(`cells-cpu.${count}`, report.nodeMicrosPerJob + postgresMicros);
  });
}

/** One worker, one job at a time: nothing to hide the time of a call behind. */
function leaseFrom(bench: Bench, count: CellCount): Promise<void> {
  return scoped(bench, async (scope) => {
    const samples = bench.scale.latencySamples;
    const warm = Math.ceil(samples / 5);
    const databases = await databasesWith(scope, count, LEASED_QUEUE, (samples + warm) * 2);
    const server = await scope.millrace({ url: urlOf(databases) }, 'api');
    const calls = await DurableCalls.open(server.port);
    scope.onClose(async () => calls.close());
    const ms: number[] = [];
    for (let n = 0; n < samples + warm; n++) ms.push(await calls.timed(LEASE, 200));
    const { p50, p99 } = latencyOf(ms.slice(warm));
    bench.results.record(`cells-lease-p50.${count}`, p50);
    bench.results.record(`cells-lease-p99.${count}`, p99);
  });
}

function idleOn(bench: Bench, count: CellCount): Promise<void> {
  return scoped(bench, async (scope) => {
    const databases = await databasesWith(scope, count, QUEUE, 0);
    const byThemselves = await statementsPerSecond(bench, databases);
    await scope.millrace({ url: urlOf(databases) }, 'all');
    await sleep(SETTLE_MS);
    const withServer = await statementsPerSecond(bench, databases);
    bench.results.record(`cells-idle.${count}`, Math.max(0, withServer - byThemselves));
  });
}
