import { setTimeout as sleep } from 'node:timers/promises';
import { perRound, scoped, type Bench, type Scope } from '../bench.js';
import type { BenchDatabase } from '../env/postgres.js';
import { cpuSeconds, treeCpuSeconds } from '../env/processes.js';
import { DurableCalls } from '../load/durable-calls.js';
import type { EmbeddingMethods } from '../servers/embedding.js';
import { ADMIN_TOKEN, BATCH, JOB, QUEUE } from '../work.js';
import { insertJobs, registerTenants } from './growth/fill.js';

/** How many tenants share a queue. */
export const SHARING = [1, 10, 1_000] as const;

/** The limits of the n-th job. */
type LimitsOf = (n: number) => readonly object[];

const KEYS = 1_000;
export const LIMITED = {
  none: 'no limits',
  roomy: '1,000 keys, never full',
  full: '1,000 keys with running: 1',
} as const;
const LIMITS: Readonly<Record<keyof typeof LIMITED, LimitsOf | null>> = {
  none: null,
  roomy: (n) => [{ key: `key-${n % KEYS}`, running: 10_000 }],
  full: (n) => [{ key: `key-${n % KEYS}`, running: 1 }],
};

/** When jobs with limits are created, by the names of their metrics. */
const CREATED = { meanwhile: 'limited', first: 'limited-backlog' } as const;

const NEWCOMERS = 20;
const SETTLE_MS = 3_000;

/**
 * Limits by key beside none, shares of tenants beside none, how soon a newcomer is served, and an idle server that
 * knows many keys. What is compared takes turns, and processor time is that of the service and of PostgreSQL together.
 */
export const limits = perRound(async ({ bench }) => {
  for (const tenants of SHARING) {
    for (const kind of ['without', 'with'] as const) await drainShared(bench, tenants, kind);
  }
  for (const kind of ['without', 'with'] as const) await newcomer(bench, kind);
  for (const order of ['meanwhile', 'first'] as const)
    for (const kind of ['none', 'roomy', 'full'] as const) await runLimited(bench, kind, order);
  await oneKey(bench);
  await idleWithKeys(bench);
});

/** As if the setting had been there when they were created: they are in line. */
async function share(database: BenchDatabase): Promise<void> {
  await database.query(
    `INSERT INTO millrace.queue_limits (queue, share, shared_since, set_at) VALUES ($1, true, now(), now())`,
    [QUEUE],
  );
  await database.query(`UPDATE millrace.ready SET later = false, waits_for = millrace.share_line(queue, tenant)`);
}

const backlog = (count: number, tenants: number) => ({
  ...{ count, tenants, queue: QUEUE, startMs: Date.now() - 600_000, stepMs: 0.01 },
});

function drainShared(bench: Bench, tenants: number, kind: 'with' | 'without'): Promise<void> {
  return scoped(bench, async (scope) => {
    const jobs = bench.scale.jobs.limits;
    const database = await scope.database('millrace');
    await registerTenants(database, tenants);
    await insertJobs(database, 'waiting', backlog(jobs, tenants));
    if (kind === 'with') await share(database);
    await bench.postgres.settle(database);
    const cpuBefore = treeCpuSeconds(bench.postgres.pid);
    const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
    const report = await embedding.call('drainOfAnyTenants', { url: database.url, jobs });
    const postgresMicros = ((treeCpuSeconds(bench.postgres.pid) - cpuBefore) / jobs) * 1e6;
    bench.results.record(`shares.${kind}.${tenants}`, report.perSecond);
    bench.results.record(`shares-cpu.${kind}.${tenants}`, report.nodeMicrosPerJob + postgresMicros);
  });
}

/**
 * Twenty jobs come while another tenant's many are being run: the time from when they are there, which the answer says,
 * until they are done.
 */
function newcomer(bench: Bench, kind: 'with' | 'without'): Promise<void> {
  return scoped(bench, async (scope) => {
    const database = await scope.database('millrace');
    await registerTenants(database, 2);
    // All of the backlog belongs to the other one.
    await database.query('DELETE FROM bench_tenants WHERE place = 0');
    await database.query('UPDATE bench_tenants SET place = 0');
    await insertJobs(database, 'waiting', backlog(bench.scale.jobs.neighbour, 1));
    if (kind === 'with') await share(database);
    await bench.postgres.settle(database);
    const { embedding, calls } = await start(scope, database);
    const jobs = Array.from({ length: NEWCOMERS }, () => JOB);
    await calls.asTenant('/api/v1/jobs/batch', { jobs }, 201);
    const thereAt = performance.now();
    await embedding.call('completed', { jobs: NEWCOMERS, everyMs: 2 });
    bench.results.record(`newcomer.${kind}`, performance.now() - thereAt);
  });
}

/**
 * Created in batches, and run in the same process: meanwhile, or only when all are there. In the first case the lines
 * of limits that are full run empty between two batches; in the second there is always somebody in them.
 */
function runLimited(bench: Bench, kind: keyof typeof LIMITED, order: keyof typeof CREATED): Promise<void> {
  return scoped(bench, async (scope) => {
    const jobs = bench.scale.jobs.limits;
    const before = Math.ceil(jobs / 5);
    const database = await scope.database('millrace');
    const { embedding, calls } = await start(scope, database, [`--admin-token=${ADMIN_TOKEN}`]);
    const cpu = (): number => cpuSeconds(embedding.pid) + treeCpuSeconds(bench.postgres.pid);
    await create(calls, before, LIMITS[kind]);
    await embedding.call('completed', { jobs: before });
    const [cpuBefore, startedAt] = [cpu(), performance.now()];
    if (order === 'first') await calls.asOperator(`/api/v1/admin/queues/${QUEUE}/pause`, {});
    await create(calls, jobs, LIMITS[kind]);
    if (order === 'first') await calls.asOperator(`/api/v1/admin/queues/${QUEUE}/resume`, {});
    await embedding.call('completed', { jobs: jobs + before });
    const of = CREATED[order];
    bench.results.record(`${of}.${kind}`, (jobs / (performance.now() - startedAt)) * 1000);
    bench.results.record(`${of}-cpu.${kind}`, ((cpu() - cpuBefore) / jobs) * 1e6);
  });
}

function oneKey(bench: Bench): Promise<void> {
  return scoped(bench, async (scope) => {
    const jobs = Math.ceil(bench.scale.jobs.limits / 40);
    const { embedding, calls } = await start(scope, await scope.database('millrace'));
    const startedAt = performance.now();
    await create(calls, jobs, () => [{ key: 'one', running: 1 }]);
    await embedding.call('completed', { jobs });
    bench.results.record('limited.one-key', (jobs / (performance.now() - startedAt)) * 1000);
  });
}

/** Each key has a job that is due tomorrow. */
function idleWithKeys(bench: Bench): Promise<void> {
  return scoped(bench, async (scope) => {
    const { postgres, scale, results } = bench;
    const database = await scope.database('millrace');
    const { embedding, calls } = await start(scope, database);
    await create(calls, scale.keys, (n) => [{ key: `key-${n}`, running: 2 }], { delay_secs: 86_400 });
    await postgres.settle(database);
    await sleep(SETTLE_MS);
    const before = { cpu: cpuSeconds(embedding.pid), n: await postgres.transactions(database) };
    await sleep(scale.idleSecs * 1000);
    results.record('limits-idle.cpu', ((cpuSeconds(embedding.pid) - before.cpu) / scale.idleSecs) * 100);
    results.record('limits-idle.statements', ((await postgres.transactions(database)) - before.n) / scale.idleSecs);
  });
}

async function start(scope: Scope, database: BenchDatabase, flags: readonly string[] = []) {
  const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
  const port = await embedding.call('start', { url: database.url, flags });
  const calls = await DurableCalls.open(port);
  scope.onClose(async () => calls.close());
  return { embedding, calls };
}

async function create(calls: DurableCalls, count: number, limitsOf: LimitsOf | null, more: object = {}): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, count - first) }, (_, n) => ({
      ...JOB,
      ...more,
      ...(limitsOf && { config: { limits: limitsOf(first + n) } }),
    }));
    await calls.asTenant('/api/v1/jobs/batch', { jobs }, 201);
  }
}
