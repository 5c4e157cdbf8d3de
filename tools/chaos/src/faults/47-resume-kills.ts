import type { Fault } from '../fault.js';
import type { ChaosClient, LeasedJob } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { Stage } from '../stage/stage.js';
import { startApiPair, type ApiPair } from '../support/api-pair.js';
import { leaseMany } from '../support/jobs.js';

const QUEUE = 'resumed';
const ROUND = 20;
const LEASE_SECS = 120;

const STEPS = [
  { name: 'first', task_name: 'work', queue: QUEUE, config: QUICK },
  { name: 'second', task_name: 'work', queue: QUEUE, config: QUICK, depends_on: ['first'] },
  { name: 'third', task_name: 'work', queue: QUEUE, config: QUICK, depends_on: ['second'] },
];

/**
 * Workflows fail at their second step and are resumed from the first, each by two processes at once, while one of them
 * is killed. Whatever is acknowledged or not: each reset step has one live job, which sees none of the old results, and
 * every workflow ends.
 */
export const resumeKills: Fault = {
  row: 47,
  name: 'resumes of workflows under kill -9 of servers',
  check: 'one live job per reset step, without old results',
  unit: 'workflows',
  full: 2_000,
  everyday: 40,
  rare: true,
  async run(stage, count) {
    const pair = await startApiPair(stage);
    for (let done = 0; done < count; done += ROUND) await round(stage, pair, Math.min(ROUND, count - done), done);
    await stage.drained(pair.database);
    const completed = await pair.database.count(`millrace.workflow_ends WHERE status = 'completed'`);
    stage.expect(completed === count, `${completed} of ${count} workflows completed`);
  },
};

async function round(stage: Stage, pair: ApiPair, size: number, done: number): Promise<void> {
  const { database, servers, clients } = pair;
  const [one] = clients;
  const ids = await startAndFail(stage, one, size);
  const victim = (done / ROUND) % 2;
  await stage.outage(async () => {
    const resuming = Promise.all(ids.flatMap((id) => clients.map((client) => resume(stage, client, id))));
    await stage.sleep(stage.random.between(0, 150));
    await servers[victim]!.process.kill();
    await servers[victim]!.start();
    await resuming;
  });
  await expectOneLiveJob(stage, database, size);
  for (const step of ['first', 'second', 'third']) {
    const jobs = await leaseMany(one, QUEUE, size + 1, LEASE_SECS);
    stage.expect(jobs.length === size, `${jobs.length} jobs of ${step} in ${size} resumed workflows`);
    for (const job of jobs) expectNoOldResult(stage, job);
    await Promise.all(jobs.map(({ id, token }) => one.complete(id, token, { [`from-${step}`]: 'new' })));
  }
}

async function startAndFail(stage: Stage, client: ChaosClient, size: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < size; n++) {
    const body = { name: 'resumed', steps: STEPS };
    const reply = await client.send('other', 'POST', '/api/v1/workflows', { body });
    stage.expect(reply.status === 201, `a workflow was answered ${reply.status ?? ''}`);
    ids.push(String(reply.body.workflow_id));
  }
  const first = await leaseMany(client, QUEUE, size, LEASE_SECS);
  await Promise.all(first.map(({ id, token }) => client.complete(id, token, { 'from-first': 'old' })));
  const second = await leaseMany(client, QUEUE, size, LEASE_SECS);
  await Promise.all(second.map(({ id, token }) => client.fail(id, token, false)));
  return ids;
}

/** Until somebody has resumed it: 202 to us, or 409 because it goes on. */
async function resume(stage: Stage, client: ChaosClient, id: string): Promise<void> {
  const body = { steps: ['first'] };
  await stage.until(
    async () => {
      const { status } = await client.send('other', 'POST', `/api/v1/workflows/${id}/resume`, { body });
      if (status !== 202 && status !== 409) return `answered ${status ?? 'nothing'}`;
      return true;
    },
    { what: `workflow ${id} to go on`, everyMs: 50 },
  );
}

async function expectOneLiveJob(stage: Stage, database: Database, size: number): Promise<void> {
  const live = await database.query<{ step: string | null; n: number }>(
    `SELECT j.step, count(*)::int AS n FROM millrace.jobs j JOIN millrace.ready r ON r.tenant = j.tenant AND r.id = j.id
     WHERE j.queue = $1 GROUP BY j.step`,
    [QUEUE],
  );
  const told = JSON.stringify(live);
  stage.expect(
    told === JSON.stringify([{ step: 'first', n: size }]),
    `live jobs of ${size} resumed workflows: ${told}`,
  );
}

function expectNoOldResult(stage: Stage, { id, job }: LeasedJob): void {
  const { _context: context = {} } = job.payload as { _context?: Record<string, unknown> };
  stage.expect(!JSON.stringify(context).includes('old'), `job ${id} sees a result from before the resume`);
}
