import type { Fault } from '../fault.js';
import type { ChaosClient, Reply } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';
import { startApiPair } from '../support/api-pair.js';

const QUEUE = 'races';
const AT_ONCE = 8;
const MOST_APART_MS = 5;

/**
 * A worker stores a result through one process while its job is given back through the other, and the next attempt
 * reads at once what is stored. What it has read is all that there will be of the attempt before it: a result that came
 * later would have been acknowledged to one attempt, and its step run again by the other.
 */
export const checkpointRaces: Fault = {
  row: 45,
  name: 'checkpoints racing with the end of their lease',
  check: 'nothing is stored once the next attempt has read',
  unit: 'races',
  full: 20_000,
  everyday: 100,
  async run(stage, count) {
    const { database, clients } = await startApiPair(stage);
    stage.poolQueues.add(QUEUE); // its jobs are given back by calls that the history does not know
    const won = { store: 0, release: 0 };
    let left = count;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, lane) => {
        while (left-- > 0) won[await race(stage, clients, `${QUEUE}-${lane}`)]++;
      }),
    );
    await stage.drained(database);
    stage.note(`won by the checkpoint ${won.store}, by the end of the lease ${won.release}`);
    stage.expect(Math.min(won.store, won.release) > 0, 'one of the two never won: nothing was tested');
  },
};

async function race(
  stage: Stage,
  [one, two]: readonly [ChaosClient, ChaosClient],
  queue: string,
): Promise<'store' | 'release'> {
  stage.poolQueues.add(queue);
  await one.create('work', { config: { ...QUICK, queue } });
  const first = await lease(one, queue);
  const checkpoint = { lease_token: first.token, name: 'step', value: 1 };
  const later = async (call: () => Promise<Reply>): Promise<Reply> => {
    await stage.sleep(stage.random.between(0, MOST_APART_MS));
    return call();
  };
  const storing = later(() => report(one, first, 'checkpoints', checkpoint));
  await later(() => report(two, first, 'release', { lease_token: first.token }));
  const second = await lease(two, queue);
  const before = await stored(two, second);
  const { status } = await storing;
  const after = await stored(two, second);
  if (before !== after)
    stage.violation(`the next attempt had read ${before} results, and then there were ${after} (answered ${status})`);
  if ((status === 201) !== (after === 1)) stage.violation(`answered ${status}, and ${after} results are stored`);
  await report(one, second, 'complete', { lease_token: second.token, result: {} });
  return status === 201 ? 'store' : 'release';
}

interface Held {
  readonly id: string;
  readonly token: string;
}

/** Not by the client's own: the replay would miss how the job got back into its queue. */
async function lease(client: ChaosClient, queue: string): Promise<Held> {
  const path = `/api/v1/queues/${queue}/lease`;
  const { body } = await client.send('other', 'POST', path, { body: { wait_secs: 30 }, asWorker: true });
  const [leased] = body.jobs as readonly { job: { id: string }; lease_token: string }[];
  if (leased === undefined) throw new Error(`no job on ${queue}`);
  return { id: leased.job.id, token: leased.lease_token };
}

const report = (client: ChaosClient, { id }: Held, what: string, body: object): Promise<Reply> =>
  client.send('other', 'POST', `/api/v1/jobs/${id}/${what}`, { body, asWorker: true });

async function stored(client: ChaosClient, { id, token }: Held): Promise<number> {
  const path = `/api/v1/jobs/${id}/checkpoints`;
  const { body } = await client.send('other', 'GET', path, { asWorker: true, headers: { 'lease-token': token } });
  return (body.checkpoints as readonly unknown[]).length;
}
