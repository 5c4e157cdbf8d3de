import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { startApiPair } from '../support/api-pair.js';
import { jobsOn } from '../support/jobs.js';

const QUEUE = 'doomed';
const MOST_PER_BATCH = 1_000;
const RUNNING = 20;
const LATER = 200;
const MOST_KILLS = 5;
/** An operation is taken over once its process has been silent for 4 s, by a look every 10 s. */
const TAKEN_OVER_MS = 15_000;

interface Progress {
  readonly status: string;
  readonly done: number;
}

/**
 * All jobs of a queue are cancelled in bulk, and the process that does it is killed, again and again in the full run:
 * the other one goes on. What was created after the operation stays.
 */
export const bulkCancel: Fault = {
  row: 37,
  name: 'kill -9 the process that cancels jobs in bulk',
  check: 'each is cancelled and counted once, and nothing created afterwards is touched',
  unit: 'jobs',
  full: 100_000,
  everyday: 2_000,
  rare: true,
  async run(stage, count) {
    const { database, servers, clients } = await startApiPair(stage);
    const [first, second] = clients;
    await createJobs(first, count);
    await first.send('other', 'POST', `/api/v1/queues/${QUEUE}/lease`, {
      body: { max_jobs: RUNNING, lease_secs: 3_600 },
      asWorker: true,
    });
    const id = await begin(stage, first);
    await createJobs(second, LATER);
    await killWhileItRuns(stage, id, servers, clients);
    await stage.until(async () => (await progress(second, id)).status !== 'running', {
      what: 'the operation to end',
      withinMs: 60_000 + count * 10,
      everyMs: 200,
    });
    await judge(stage, database, second, id, count);
    const rest = await begin(stage, second);
    await stage.until(async () => (await progress(second, rest)).status === 'completed', { withinMs: 60_000 });
    await stage.drained(database);
  },
};

/** Not as creations of the history: it knows nothing of cancellations that no call names. */
async function createJobs(client: ChaosClient, count: number): Promise<void> {
  for (let made = 0; made < count; made += MOST_PER_BATCH) {
    const jobs = jobsOn(QUEUE, Math.min(MOST_PER_BATCH, count - made));
    await client.send('other', 'POST', '/api/v1/jobs/batch', { body: { jobs } });
  }
}

async function begin(stage: Stage, client: ChaosClient): Promise<string> {
  const body = { action: 'cancel_jobs', filter: { queue: QUEUE } };
  const reply = await client.send('other', 'POST', '/api/v1/operations', { body });
  stage.expect(reply.status === 202, `the operation was answered ${reply.status ?? 'nothing'}`);
  return String(reply.body.operation_id);
}

async function progress(client: ChaosClient, id: string): Promise<Progress> {
  const { body } = await client.send('other', 'GET', `/api/v1/operations/${id}`);
  // A server that has just been killed gives no answer, and so no status.
  return { status: typeof body.status === 'string' ? body.status : 'running', done: Number(body.done ?? 0) };
}

/** Kills the one, waits until the other has taken over, starts it again and kills the other, a few times. */
async function killWhileItRuns(
  stage: Stage,
  id: string,
  servers: readonly ServerProcess[],
  clients: readonly ChaosClient[],
): Promise<void> {
  let kills = 0;
  for (; kills < MOST_KILLS; kills++) {
    const [victim, survivor] = [kills % 2, (kills + 1) % 2];
    const before = await moved(stage, clients[survivor]!, id, kills === 0 ? 0 : -1);
    if (before.status !== 'running') break;
    await stage.sleep(stage.random.between(0, 200));
    await servers[victim]!.process.kill();
    const killedAt = performance.now();
    const { done, status } = await progress(clients[survivor]!, id);
    if (status === 'running') {
      await moved(stage, clients[survivor]!, id, done);
      stage.expectWithin(TAKEN_OVER_MS, performance.now() - killedAt, `kill ${kills + 1}: taken over`);
    }
    await servers[victim]!.start();
  }
  stage.expect(kills > 0, 'the operation ended before its process could be killed');
  stage.note(`${kills} kills`);
}

/** Waits for the operation to get further than this, or to end. */
async function moved(stage: Stage, client: ChaosClient, id: string, done: number): Promise<Progress> {
  let now: Progress = { status: 'running', done: 0 };
  await stage.until(
    async () => {
      now = await progress(client, id);
      return now.status !== 'running' || now.done > done || `${now.done} are done`;
    },
    { what: 'the operation to go on', everyMs: 20 },
  );
  return now;
}

async function judge(stage: Stage, database: Database, client: ChaosClient, id: string, count: number): Promise<void> {
  const { body } = await client.send('other', 'GET', `/api/v1/operations/${id}`);
  const { status, done, changed, skipped, matched } = body;
  const told = JSON.stringify({ status, done, changed, skipped, matched });
  const expected = { status: 'completed', done: count, changed: count, skipped: 0, matched: { n: count, exact: true } };
  stage.expect(told === JSON.stringify(expected), `of ${count} jobs, the operation says ${told}`);
  const cancelled = await database.count(`millrace.done WHERE status = 'cancelled'`);
  stage.expect(cancelled === count, `${cancelled} of ${count} jobs are cancelled`);
  const left = await database.count('millrace.ready');
  stage.expect(left === LATER, `${left} of the ${LATER} jobs that were created afterwards are left`);
}
