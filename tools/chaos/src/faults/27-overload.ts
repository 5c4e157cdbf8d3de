import { quantile, readMetrics } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import type { ChaosClient, LeasedJob } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import { TENANT_KEY, type ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { flood, type FloodOrder, type FloodReport } from '../support/flood.js';
import { jobsOn } from '../support/jobs.js';

const ROOM = 100;
const TIMES = 10;
const LARGE_CALLERS = 20;
const LARGE_BYTES = 200_000;
/** How long the service is measured at its limit, for comparison. */
const LIMIT_MS = 2_000;
const HELD = 20;
const BEAT_EVERY_MS = 500;
const BEAT_MS = 2_000;
/** A machine that stands still must not end them. */
const LEASE_SECS = 60;
/** Limits, as multiples of what the same server showed at its limit a moment before. */
const MOST_TIME = 6;
const MOST_MEMORY = 3;
const RECOVERED_MS = 5_000;
const HEALTH_MS = 1_000;

/**
 * Ten times as many callers as it has room for, who never pause: accepted requests are served, and held jobs are kept.
 */
export const overload: Fault = {
  row: 27,
  name: 'ten times the load it can take',
  check: 'time and memory bounded, /health answers, no lease lost, back within 5 s',
  unit: 'seconds',
  full: 60,
  everyday: 4,
  alone: true,
  async run(stage, seconds) {
    const database = await stage.database();
    const server = await stage.server({ database, mode: 'api', args: [`--max-in-flight=${ROOM}`] });
    const client = stage.client(server);
    const order = orderFor(server);

    const limit = await flood({ ...order, callers: ROOM, large: 0 }, () => stage.sleep(LIMIT_MS));
    stage.expect(limit.refused === 0, `${limit.refused} requests were refused although there was room`);
    const limitP99 = quantile(limit.acceptedMs, 0.99);
    const limitMemory = await memoryOf(server);

    const held = await holdSome(client);
    const memory: number[] = [];
    const report = await stage.outage(() =>
      flood(order, () => liveThrough(stage, server, client, held, seconds * 1_000, memory)),
    );

    const startedAt = performance.now();
    await stage.until(
      async () => (await client.create('work', { config: { queue: 'after', ...QUICK } })).status === 201,
    );
    stage.expectWithin(RECOVERED_MS, performance.now() - startedAt, 'new jobs were accepted again');
    judgeFlood(stage, report, limitP99);
    stage.expect(
      Math.max(...memory) <= MOST_MEMORY * limitMemory,
      `memory rose from ${mebibytes(limitMemory)} to ${mebibytes(Math.max(...memory))}`,
    );
    await expectStored(stage, database, [...limit.ids, ...report.ids]);
    const p99 = Math.round(quantile(report.acceptedMs, 0.99));
    stage.note(
      `${limit.ids.length / (LIMIT_MS / 1_000)} per second at the limit, p99 ${Math.round(limitP99)} ms; flooded ` +
        `${Math.round(report.ids.length / seconds)} per second, p99 ${p99} ms, ` +
        `${report.refused} refused; memory ${mebibytes(limitMemory)}, at most ${mebibytes(Math.max(...memory))}`,
    );
  },
};

const orderFor = (server: ServerProcess): FloodOrder => ({
  port: Number(new URL(server.url).port),
  token: TENANT_KEY,
  queue: 'flooded',
  callers: TIMES * ROOM,
  large: LARGE_CALLERS,
  largeBytes: LARGE_BYTES,
});

async function holdSome(client: ChaosClient): Promise<readonly LeasedJob[]> {
  await client.batch(jobsOn('held', HELD));
  return client.lease('held', { max: HELD, secs: LEASE_SECS });
}

/**
 * Well-behaved callers that must not suffer from the flood: leases are extended every round, and one job per round is
 * completed.
 */
async function liveThrough(
  stage: Stage,
  server: ServerProcess,
  client: ChaosClient,
  held: readonly LeasedJob[],
  forMs: number,
  memory: number[],
): Promise<void> {
  stage.expect(held.length === HELD, `${held.length} of ${HELD} jobs were leased`);
  const working = [...held];
  const endsAt = performance.now() + forMs;
  while (performance.now() < endsAt) {
    const round = performance.now();
    await Promise.all(working.map(({ id, token }) => keep(stage, client, id, token)));
    if (working.length > 1) await finish(stage, client, working.shift());
    await probe(stage, server);
    memory.push(await memoryOf(server));
    await stage.sleep(Math.max(0, BEAT_EVERY_MS - (performance.now() - round)));
  }
  for (const job of working) await finish(stage, client, job);
}

async function keep(stage: Stage, client: ChaosClient, id: string, token: string): Promise<void> {
  const { status, body, ms } = await client.heartbeat(id, token, LEASE_SECS);
  stage.expectWithin(BEAT_MS, ms, 'a heartbeat');
  stage.expect(status === 200 && body.status === 'running', `a heartbeat was answered ${status ?? 'not at all'}`);
}

async function finish(stage: Stage, client: ChaosClient, job: LeasedJob | undefined): Promise<void> {
  if (!job) return;
  const { status } = await client.complete(job.id, job.token);
  stage.expect(status === 204, `a completion was answered ${status ?? 'not at all'}`);
}

async function probe(stage: Stage, server: ServerProcess): Promise<void> {
  const startedAt = performance.now();
  const { status } = await fetch(new URL('/health', server.url));
  stage.expect(status === 200, `/health answered ${status}`);
  stage.expectWithin(HEALTH_MS, performance.now() - startedAt, '/health');
}

function judgeFlood(stage: Stage, report: FloodReport, limitP99: number): void {
  // However fast the service is: who is refused is kept waiting for a second, so a share of all requests says nothing.
  stage.expect(report.refused >= (TIMES - 1) * ROOM, `only ${report.refused} requests were refused: it was no flood`);
  stage.expect(report.malformedRefusals === 0, `${report.malformedRefusals} refusals were not in the documented form`);
  const { otherStatuses } = report;
  stage.expect(Object.keys(otherStatuses).length === 0, `other answers: ${JSON.stringify(otherStatuses)}`);
  stage.expect(report.cutOff === 0, `${report.cutOff} connections were cut off`);
  stage.expectWithin(
    MOST_TIME * limitP99,
    quantile(report.acceptedMs, 0.99),
    'the 99th percentile of accepted requests',
  );
}

async function memoryOf(server: ServerProcess): Promise<number> {
  return (await readMetrics(server.metricsUrl))('process_resident_memory_bytes');
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;

async function expectStored(stage: Stage, database: Database, ids: readonly string[]): Promise<void> {
  const [row] = await database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM millrace.jobs WHERE tenant = 'chaos' AND id = ANY ($1::uuid[])`,
    [ids],
  );
  stage.expect(row?.n === ids.length, `${ids.length - (row?.n ?? 0)} of ${ids.length} acknowledged jobs are missing`);
}
