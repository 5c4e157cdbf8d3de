import type { Fault } from '../fault.js';
import type { ChaosClient, LeasedJob } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';
import { inTurn } from './support/lanes.js';

const PARENTS = Array.from({ length: 10 }, (_, i) => `parent-${i}`);
const AT_ONCE = 8;

type Clients = readonly [ChaosClient, ChaosClient];

/** Ten steps end in the same instant, through two processes. The step that waited for all of them is there once, and knows all ten. */
export const fanIn: Fault = {
  row: 20,
  name: 'ten-way fan-in at the same instant',
  check: 'one child, the full context',
  unit: 'joins',
  full: 5_000,
  everyday: 24,
  async run(stage, count) {
    const database = await stage.database();
    const servers = [
      await stage.server({ database, mode: 'api' }),
      await stage.server({ database, mode: 'api' }),
    ] as const;
    const clients = [stage.client(servers[0]), stage.client(servers[1])] as const;
    for (let done = 0; done < count; done += AT_ONCE) await joins(stage, clients, Math.min(AT_ONCE, count - done));
    await stage.drained(database);
    const children = await database.count(`millrace.jobs WHERE step = 'child'`);
    stage.expect(children === count, `${count} workflows have ${children} children`);
  },
};

async function joins(stage: Stage, clients: Clients, size: number): Promise<void> {
  const [one] = clients;
  const steps = [
    ...PARENTS.map((name) => ({ name, task_name: 'work', config: QUICK })),
    { name: 'child', task_name: 'work', config: QUICK, depends_on: PARENTS },
  ];
  for (let i = 0; i < size; i++) {
    const { status } = await one.send('other', 'POST', '/api/v1/workflows', { body: { name: 'join', steps } });
    stage.expect(status === 201, `a workflow was answered ${status ?? ''}`);
  }
  const parents = await leaseAll(one, size * PARENTS.length);
  stage.expect(parents.length === size * PARENTS.length, `${parents.length} parents of ${size} workflows`);
  const answers = await Promise.all(
    stage.random.shuffle(parents).map(({ id, token, job }, i) => {
      const client = inTurn(clients, i);
      return client.complete(id, token, { [`from-${String(job.workflow_step_id)}`]: id });
    }),
  );
  const refused = answers.filter(({ status }) => status !== 204);
  stage.expect(refused.length === 0, `${refused.length} parents were answered ${refused[0]?.status ?? ''}`);
  const children = await leaseAll(one, size + 1);
  stage.expect(children.length === size, `${size} joins gave ${children.length} children`);
  for (const child of children) knowsEverybody(stage, child, parents);
  await Promise.all(children.map(({ id, token }) => one.complete(id, token)));
}

async function leaseAll(client: ChaosClient, wanted: number): Promise<readonly LeasedJob[]> {
  const all: LeasedJob[] = [];
  while (all.length < wanted) {
    const jobs = await client.lease('default', { max: Math.min(100, wanted - all.length), secs: 120 });
    if (jobs.length === 0) break;
    all.push(...jobs);
  }
  return all;
}

/** Both ways in which a result stands in the context: whole, under the name of its step, and its keys merged. */
function knowsEverybody(stage: Stage, { id, job }: LeasedJob, parents: readonly LeasedJob[]): void {
  const { _context: context = {} } = job.payload as { _context?: Record<string, unknown> };
  const mine = parents.filter((each) => each.job.workflow_id === job.workflow_id);
  const missing = mine.filter((parent) => {
    const step = String(parent.job.workflow_step_id);
    const whole = context[step] as Record<string, unknown> | undefined;
    return context[`from-${step}`] !== parent.id || whole?.[`from-${step}`] !== parent.id;
  });
  stage.expect(mine.length === PARENTS.length, `child ${id} has ${mine.length} parents`);
  stage.expect(missing.length === 0, `child ${id} does not know ${missing.length} of its parents`);
}
