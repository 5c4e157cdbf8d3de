import { readMetrics } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import type { ChaosClient, LeasedJob } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { together } from '../support/concurrency.js';
import { watchEvents } from '../support/event-stream.js';
import { completeAll, jobsOn } from '../support/jobs.js';

const CROWD = 300;
const PROBES = 40;
const HEALTH_MS = 100;
const BEAT_MS = 1_500;
/** A machine that stands still must not end it. */
const LEASE_SECS = 60;
const STREAM_MS = 120_000;

/** Far more callers wait on one process than it has database connections. Callers that do not wait must not notice. */
export const manyWaiting: Fault = {
  row: 11,
  name: '300 long polls and 300 event streams on a small pool',
  check: '/health under 100 ms, heartbeats go through',
  unit: 'rounds',
  full: 20,
  everyday: 1,
  alone: true,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({ database, mode: 'api' });
    for (let round = 1; round <= count; round++) await crowd(stage, server, round);
    await stage.drained(database);
  },
};

async function crowd(stage: Stage, server: ServerProcess, round: number): Promise<void> {
  const client = stage.client(server);
  const watched = await createMany(client, `watched-${round}`);
  const streams = watched.map((id) => watchEvents(server.url, id, AbortSignal.timeout(STREAM_MS)));
  const polls = together(CROWD, () => client.lease(`polled-${round}`, { wait: 30, secs: 120 }));
  await stage.until(async () => (await gauges(server)).every((n) => n === CROWD), {
    what: 'every poll and every stream to be open',
  });
  const held = await holdOne(stage, client, `held-${round}`);
  await probe(stage, server, client, held);
  // While the crowd is still waiting: after this nobody sends heartbeats for the held job.
  const completed = await client.complete(held.id, held.token);
  stage.expect(completed.status === 204, `the held job's completion was answered ${completed.status ?? ''}`);
  const before = await gauges(server);
  stage.expect(
    before.every((n) => n === CROWD),
    `polls and streams ended by themselves: ${before.join(' and ')} remain`,
  );

  // Everybody gets what they waited for: one job per poll, and the final state on every stream.
  await createMany(client, `polled-${round}`);
  const claimed = (await polls).flat();
  stage.expect(new Set(claimed.map(({ id }) => id)).size === CROWD, `${claimed.length} of ${CROWD} polls got a job`);
  await completeAll(client, claimed);
  await Promise.all(watched.map((id) => client.cancel(id)));
  const shown = (await Promise.all(streams)).map((events) => events.map(({ status }) => status).join(' '));
  const wrong = shown.filter((states) => states !== 'pending cancelled');
  stage.expect(wrong.length === 0, `${wrong.length} streams showed other states, such as ${wrong[0] ?? ''}`);
}

async function createMany(client: ChaosClient, queue: string): Promise<readonly string[]> {
  return (await client.batch(jobsOn(queue, CROWD))).body.job_ids as string[];
}

async function gauges(server: ServerProcess): Promise<readonly number[]> {
  const metric = await readMetrics(server.metricsUrl);
  return [metric('millrace_long_polls'), metric('millrace_event_streams')];
}

async function holdOne(stage: Stage, client: ChaosClient, queue: string): Promise<LeasedJob> {
  await client.create('work', { config: { queue, ...QUICK } });
  const [leased] = await client.lease(queue, { secs: LEASE_SECS });
  if (!leased) throw new Error('the job to be held was not given out');
  stage.expect(leased.job.status === 'running', 'the job to be held is not running');
  return leased;
}

async function probe(
  stage: Stage,
  server: ServerProcess,
  client: ChaosClient,
  { id, token }: LeasedJob,
): Promise<void> {
  const times: number[] = [];
  const beganAt = performance.now();
  for (let i = 0; i < PROBES; i++) {
    const startedAt = performance.now();
    const { status } = await fetch(new URL('/health', server.url));
    times.push(performance.now() - startedAt);
    stage.expect(status === 200, `/health answered ${status}`);
    const beat = await client.heartbeat(id, token, LEASE_SECS);
    stage.expect(
      beat.status === 200 && beat.body.status === 'running',
      `a heartbeat was answered ${beat.status ?? ''}`,
    );
    stage.expectWithin(BEAT_MS, beat.ms, 'a heartbeat');
    await stage.sleep(20);
  }
  // One slow answer in forty is put down to the machine: the suite itself serves six hundred connections.
  const [, second = 0] = times.sort((a, b) => b - a);
  stage.expectWithin(HEALTH_MS, second, '/health, more than once', performance.now() - beganAt);
}
