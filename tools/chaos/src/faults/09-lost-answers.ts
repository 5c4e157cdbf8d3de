import type { Fault } from '../fault.js';
import type { ChaosClient, LeasedJob, Reply } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { startAnswerDropper, type AnswerDropper } from '../support/answer-dropper.js';
import { runConcurrently } from '../support/concurrency.js';

/** Where answers get lost: between client and server, or between server and database. */
interface Side {
  readonly dropper: AnswerDropper;
  /** A client whose answers get lost when the dropper says so. */
  readonly unlucky: ChaosClient;
  readonly plain: ChaosClient;
  /**
   * The steps of all workflows share the default queue: a race that leases another's step leaves it here, by workflow.
   */
  readonly steps: Map<string, LeasedJob>;
}

const CONCURRENCY = 4;

/**
 * A call takes effect and its answer never arrives. A client that then repeats the call, as every client must, gets the
 * original answer, and nothing happens twice.
 */
export const lostAnswers: Fault = {
  row: 9,
  name: 'connection cut after commit, before the answer',
  check: 'a repeated complete is 204 with one effect, a repeated keyed create one job',
  unit: 'answers lost',
  full: 2_000,
  everyday: 36,
  async run(stage, count) {
    const database = await stage.database();
    const steps = new Map<string, LeasedJob>();
    const server = await stage.server({ database, mode: 'api' });
    const plain = stage.client(server);
    const betweenUsAndServer = { ...(await clientSide(stage, server)), plain, steps };
    const betweenServerAndDatabase = { ...(await databaseSide(stage, database)), plain, steps };
    // A server whose connection is cut cannot know what became of its statement, and answers 503.
    await stage.outage(() =>
      runConcurrently(count, CONCURRENCY, async (index) => {
        const side = index % 2 === 0 ? betweenUsAndServer : betweenServerAndDatabase;
        const kind = [repeatCreate, repeatComplete, repeatStep][index % 3];
        await kind?.(stage, side, `lost-${index}-${stage.random.integer(1e9, 2e9)}`);
      }),
    );
    const twice = await database.query(
      `SELECT idempotency_key FROM millrace.jobs WHERE idempotency_key IS NOT NULL GROUP BY 1 HAVING count(*) <> 1`,
    );
    stage.expect(twice.length === 0, `${twice.length} keys have more than one job`);
    const dropped = betweenUsAndServer.dropper.dropped + betweenServerAndDatabase.dropper.dropped;
    stage.expect(dropped >= count, `only ${dropped} answers were lost`);
    await Promise.all([betweenUsAndServer.dropper.close(), betweenServerAndDatabase.dropper.close()]);
  },
};

type Unlucky = Pick<Side, 'dropper' | 'unlucky'>;

async function clientSide(stage: Stage, server: ServerProcess): Promise<Unlucky> {
  const dropper = await startAnswerDropper(server.url);
  return { dropper, unlucky: stage.client(() => dropper.url) };
}

async function databaseSide(stage: Stage, database: Database): Promise<Unlucky> {
  const dropper = await startAnswerDropper(database.url);
  const server = await stage.server({ database, mode: 'api', databaseUrl: dropper.url });
  return { dropper, unlucky: stage.client(server) };
}

/** Loses the answer to a call, then repeats the call until it is answered. */
async function loseAndRepeat(
  stage: Stage,
  side: Side,
  text: string,
  call: (client: ChaosClient) => Promise<Reply>,
): Promise<Reply> {
  const dropping = side.dropper.dropAnswerTo(text);
  const first = await call(side.unlucky);
  stage.expect(first.status === null || first.status === 503, `a lost answer arrived: ${first.status ?? ''}`);
  dropping.callOff();
  return stage.until(async () => {
    const reply = await call(side.plain);
    return reply.status !== null && reply.status < 500 && reply;
  });
}

async function repeatCreate(stage: Stage, side: Side, key: string): Promise<void> {
  const create = (client: ChaosClient): Promise<Reply> =>
    client.create('work', { payload: { key }, config: { queue: `created ${key}`, ...QUICK } }, key);
  const second = await loseAndRepeat(stage, side, key, create);
  const third = await create(side.plain);
  const ids = new Set([second.body.job_id, third.body.job_id]);
  stage.expect(ids.size === 1 && second.status === 201, `key ${key} was answered with ${[...ids].join(', ')}`);
  const claimed = await side.plain.lease(`created ${key}`, { max: 10 });
  stage.expect(claimed.length === 1, `key ${key} made ${claimed.length} jobs`);
  for (const { id, token } of claimed) await side.plain.complete(id, token);
}

async function repeatComplete(stage: Stage, side: Side, queue: string): Promise<void> {
  const { plain } = side;
  await plain.create('work', { config: { queue, ...QUICK } });
  const [leased] = await plain.lease(queue, { secs: 120 });
  if (!leased) return stage.violation(`nothing to lease on ${queue}`);
  const again = await loseAndRepeat(stage, side, leased.token, (client) => client.complete(leased.id, leased.token));
  stage.expect(again.status === 204, `a repeated complete was answered ${again.status ?? ''}`);
  const { body } = await plain.get(leased.id);
  const isOnce = body.status === 'completed' && body.delivery_count === 1 && body.retry_count === 0;
  stage.expect(isOnce, `job ${leased.id} is ${JSON.stringify(body)} after a repeated complete`);
}

/** Completing a step starts the next one: there must be exactly one. */
async function repeatStep(stage: Stage, side: Side, name: string): Promise<void> {
  const { plain } = side;
  const steps = [
    { name: 'first', task_name: name, config: QUICK },
    { name: 'second', task_name: name, config: QUICK, depends_on: ['first'] },
  ];
  const { body } = await plain.send('other', 'POST', '/api/v1/workflows', { body: { name, steps } });
  const workflow = `/api/v1/workflows/${String(body.workflow_id)}`;
  for (const _step of steps) {
    const leased = await leaseStepOf(stage, side, String(body.workflow_id));
    const again = await loseAndRepeat(stage, side, leased.token, (client) => client.complete(leased.id, leased.token));
    stage.expect(again.status === 204, `a repeated complete of a step was answered ${again.status ?? ''}`);
  }
  const record = await plain.send('other', 'GET', workflow);
  stage.expect(record.body.status === 'completed', `workflow ${workflow} is ${String(record.body.status)}`);
}

async function leaseStepOf(stage: Stage, { plain, steps }: Side, workflow: string): Promise<LeasedJob> {
  return stage.until(
    async () => {
      for (const leased of await plain.lease('default', { max: 5, secs: 120 })) {
        steps.set(String(leased.job.workflow_id), leased);
      }
      const step = steps.get(workflow);
      steps.delete(workflow);
      return step;
    },
    { what: 'the next step of a workflow' },
  );
}
