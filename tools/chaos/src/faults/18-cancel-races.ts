import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';
import { inLanes } from './support/lanes.js';

const LANES = 8;
const TERMINAL = ['completed', 'failed', 'cancelled'];

/** Two processes: what is cancelled through one is claimed or reported through the other. */
interface Pair {
  readonly stage: Stage;
  readonly here: ChaosClient;
  readonly there: ChaosClient;
}

type Race = (pair: Pair, queue: string) => Promise<void>;

/** A cancellation meets, in the same moment, a claim, a report of success, a report of failure, or the advance of its workflow. */
export const cancelRaces: Fault = {
  row: 18,
  name: 'cancel racing claim, complete, retry, workflow advance',
  check: 'a legal end state, a cancelled job never runs again',
  unit: 'races',
  full: 10_000,
  everyday: 120,
  async run(stage, count) {
    const database = await stage.database();
    const [one, two] = [await stage.server({ database, mode: 'api' }), await stage.server({ database, mode: 'api' })];
    const races: readonly Race[] = [againstClaim, againstComplete, againstRetry, againstWorkflow];
    await inLanes(count, LANES, async (index) => {
      const servers = stage.random.shuffle([one, two]);
      const [here, there] = servers.map((server) => stage.client(server));
      if (here && there) await races[index % races.length]?.({ stage, here, there }, `race-${index}`);
    });
    await sweepUp(stage.client(one));
    await stage.drained(database);
    // What the doctor would find too, in the words of this row.
    const risen = await database.count(
      `millrace.job_records r WHERE status = 'cancelled' AND (EXISTS (SELECT FROM millrace.leases l WHERE l.id = r.id)
         OR EXISTS (SELECT FROM millrace.dead_letters d WHERE d.job_id = r.id))`,
    );
    stage.expect(risen === 0, `${risen} cancelled jobs run, or have a dead letter`);
  },
};

const create = async ({ here }: Pair, queue: string): Promise<string> =>
  String((await here.create('work', { config: { queue, ...QUICK } })).body.job_id);

async function againstClaim(pair: Pair, queue: string): Promise<void> {
  const { stage, here, there } = pair;
  const id = await create(pair, queue);
  const [cancelled, claimed] = await Promise.all([here.cancel(id), there.lease(queue, { secs: 60 })]);
  stage.expect(cancelled.status === 204, `cancelling a live job was answered ${cancelled.status ?? ''}`);
  for (const { token } of claimed) {
    const beat = await there.heartbeat(id, token, 60);
    stage.expect(beat.body.status === 'cancelled', `the claim of a cancelled job was told ${String(beat.body.status)}`);
    await there.complete(id, token);
  }
  await mustBe(pair, id, ['cancelled']);
  stage.expect((await there.lease(queue)).length === 0, `job ${id} was given out after it was cancelled`);
}

async function againstComplete(pair: Pair, queue: string): Promise<void> {
  const { stage, here, there } = pair;
  const id = await create(pair, queue);
  const [leased] = await there.lease(queue, { secs: 60 });
  if (!leased) return stage.violation(`job ${id} was not given out`);
  const [cancelled] = await Promise.all([here.cancel(id), there.complete(id, leased.token)]);
  // 204: it was in time. 409: the completion was.
  await mustBe(pair, id, [cancelled.status === 204 ? 'cancelled' : 'completed']);
}

async function againstRetry(pair: Pair, queue: string): Promise<void> {
  const { stage, here, there } = pair;
  const id = await create(pair, queue);
  const [leased] = await there.lease(queue, { secs: 60 });
  if (!leased) return stage.violation(`job ${id} was not given out`);
  const [cancelled] = await Promise.all([here.cancel(id), there.fail(id, leased.token)]);
  stage.expect(cancelled.status === 204, `cancelling a job that never ended was answered ${cancelled.status ?? ''}`);
  await mustBe(pair, id, ['cancelled']);
  stage.expect((await there.lease(queue)).length === 0, `job ${id} was retried after it was cancelled`);
}

/** The first step ends as the workflow is cancelled: there is a second job or there is none, but never a live one. */
async function againstWorkflow({ stage, here, there }: Pair, name: string): Promise<void> {
  const steps = ['first', 'second'].map((step, i) => ({
    name: step,
    task_name: name,
    config: QUICK,
    ...(i > 0 && { depends_on: ['first'] }),
  }));
  const { body } = await here.send('other', 'POST', '/api/v1/workflows', { body: { name, steps } });
  const path = `/api/v1/workflows/${String(body.workflow_id)}`;
  const [leased] = await there.lease('default', { secs: 60 });
  // It may be a step of another lane's workflow; that one then races with nobody and is swept up at the end.
  const [cancelled] = await Promise.all([
    here.send('other', 'POST', `${path}/cancel`),
    ...(leased ? [there.complete(leased.id, leased.token)] : []),
  ]);
  const record = await here.send('other', 'GET', path);
  const wanted = cancelled?.status === 204 ? ['cancelled'] : ['completed'];
  stage.expect(wanted.includes(String(record.body.status)), `workflow ${path} is ${String(record.body.status)}`);
}

async function mustBe({ stage, here }: Pair, id: string, allowed: readonly string[]): Promise<void> {
  const { body } = await here.get(id);
  stage.expect(
    allowed.includes(String(body.status)),
    `job ${id} is ${String(body.status)}, not ${allowed.join(' or ')}`,
  );
  stage.expect(TERMINAL.includes(String(body.status)), `job ${id} has not ended`);
}

async function sweepUp(client: ChaosClient): Promise<void> {
  for (;;) {
    const jobs = await client.lease('default', { max: 100, secs: 60 });
    if (jobs.length === 0) return;
    await Promise.all(jobs.map(({ id, token }) => client.complete(id, token)));
  }
}
