import type { JobStatus } from '@millrace/contract';
import { isTerminal } from '@millrace/server/testing';
import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';
import { startApiPair } from '../support/api-pair.js';
import { runConcurrently } from '../support/concurrency.js';
import { emptyQueue } from '../support/jobs.js';

const CONCURRENCY = 8;

/** Clients of two processes: jobs cancelled through one are claimed or reported through the other. */
interface Sides {
  readonly stage: Stage;
  readonly here: ChaosClient;
  readonly there: ChaosClient;
}

type Race = (sides: Sides, queue: string) => Promise<void>;

/** A cancellation coincides with a claim, a report of success, a report of failure, or the advance of its workflow. */
export const cancelRaces: Fault = {
  row: 18,
  name: 'cancel racing claim, complete, retry, workflow advance',
  check: 'a legal end state, a cancelled job never runs again',
  unit: 'races',
  full: 10_000,
  everyday: 120,
  async run(stage, count) {
    const { database, clients } = await startApiPair(stage);
    const races: readonly Race[] = [againstClaim, againstComplete, againstRetry, againstWorkflow];
    await runConcurrently(count, CONCURRENCY, async (index) => {
      const [here = clients[0], there = clients[1]] = stage.random.shuffle(clients);
      await races[index % races.length]?.({ stage, here, there }, `race-${index}`);
    });
    await emptyQueue(clients[0], 'default');
    await stage.drained(database);
    // The doctor would find these too; here the message names what this row is about.
    const revived = await database.count(
      `millrace.job_records r WHERE status = 'cancelled' AND (EXISTS (SELECT FROM millrace.leases l WHERE l.id = r.id)
         OR EXISTS (SELECT FROM millrace.dead_letters d WHERE d.job_id = r.id))`,
    );
    stage.expect(revived === 0, `${revived} cancelled jobs run, or have a dead letter`);
  },
};

const create = async ({ here }: Sides, queue: string): Promise<string> =>
  String((await here.create('work', { config: { queue, ...QUICK } })).body.job_id);

async function againstClaim(sides: Sides, queue: string): Promise<void> {
  const { stage, here, there } = sides;
  const id = await create(sides, queue);
  const [cancelled, claimed] = await Promise.all([here.cancel(id), there.lease(queue, { secs: 60 })]);
  stage.expect(cancelled.status === 204, `cancelling a live job was answered ${cancelled.status ?? ''}`);
  for (const { token } of claimed) {
    const beat = await there.heartbeat(id, token, 60);
    stage.expect(
      beat.body.status === 'cancelled',
      `the holder of a cancelled job was told ${String(beat.body.status)}`,
    );
    await there.complete(id, token);
  }
  await mustBe(sides, id, ['cancelled']);
  stage.expect((await there.lease(queue)).length === 0, `job ${id} was given out after it was cancelled`);
}

async function againstComplete(sides: Sides, queue: string): Promise<void> {
  const { stage, here, there } = sides;
  const id = await create(sides, queue);
  const [leased] = await there.lease(queue, { secs: 60 });
  if (!leased) return stage.violation(`job ${id} was not given out`);
  const [cancelled] = await Promise.all([here.cancel(id), there.complete(id, leased.token)]);
  // 204: the cancellation was first. 409: the completion was.
  await mustBe(sides, id, [cancelled.status === 204 ? 'cancelled' : 'completed']);
}

async function againstRetry(sides: Sides, queue: string): Promise<void> {
  const { stage, here, there } = sides;
  const id = await create(sides, queue);
  const [leased] = await there.lease(queue, { secs: 60 });
  if (!leased) return stage.violation(`job ${id} was not given out`);
  const [cancelled] = await Promise.all([here.cancel(id), there.fail(id, leased.token)]);
  stage.expect(cancelled.status === 204, `cancelling a job that never ended was answered ${cancelled.status ?? ''}`);
  await mustBe(sides, id, ['cancelled']);
  stage.expect((await there.lease(queue)).length === 0, `job ${id} was retried after it was cancelled`);
}

/** The first step ends as the workflow is cancelled: whether or not there is a second job, none may be live. */
async function againstWorkflow({ stage, here, there }: Sides, name: string): Promise<void> {
  const steps = ['first', 'second'].map((step, i) => ({
    name: step,
    task_name: name,
    config: QUICK,
    ...(i > 0 && { depends_on: ['first'] }),
  }));
  const { body } = await here.send('other', 'POST', '/api/v1/workflows', { body: { name, steps } });
  const path = `/api/v1/workflows/${String(body.workflow_id)}`;
  const [leased] = await there.lease('default', { secs: 60 });
  // It may be a step of another race's workflow; that one then races with nobody, and is completed at the end.
  const [cancelled] = await Promise.all([
    here.send('other', 'POST', `${path}/cancel`),
    ...(leased ? [there.complete(leased.id, leased.token)] : []),
  ]);
  const record = await here.send('other', 'GET', path);
  const wanted = cancelled?.status === 204 ? ['cancelled'] : ['completed'];
  stage.expect(wanted.includes(String(record.body.status)), `workflow ${path} is ${String(record.body.status)}`);
}

async function mustBe({ stage, here }: Sides, id: string, allowed: readonly string[]): Promise<void> {
  const { body } = await here.get(id);
  const status = String(body.status);
  stage.expect(allowed.includes(status), `job ${id} is ${status}, not ${allowed.join(' or ')}`);
  stage.expect(isTerminal(status as JobStatus), `job ${id} has not ended`);
}
