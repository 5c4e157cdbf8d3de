import type { Fault } from '../fault.js';
import type { LeasedJob } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';
import { startApiPair, type ApiPair } from '../support/api-pair.js';
import { inTurn } from '../support/concurrency.js';
import { completeAll, leaseMany } from '../support/jobs.js';

const PARENTS = Array.from({ length: 10 }, (_, i) => `parent-${i}`);
const AT_ONCE = 8;
const LEASE_SECS = 120;

/**
 * Ten steps end at the same moment, through two processes. The step that waits for all ten runs once, with all ten
 * results.
 */
export const fanIn: Fault = {
  row: 20,
  name: 'ten-way fan-in at the same instant',
  check: 'one child, the full context',
  unit: 'joins',
  full: 5_000,
  everyday: 24,
  rare: true,
  async run(stage, count) {
    const { database, clients } = await startApiPair(stage);
    for (let done = 0; done < count; done += AT_ONCE) await joins(stage, clients, Math.min(AT_ONCE, count - done));
    await stage.drained(database);
    const children = await database.count(`millrace.jobs WHERE step = 'child'`);
    stage.expect(children === count, `${count} workflows have ${children} children`);
  },
};

async function joins(stage: Stage, clients: ApiPair['clients'], size: number): Promise<void> {
  const [one] = clients;
  const steps = [
    ...PARENTS.map((name) => ({ name, task_name: 'work', config: QUICK })),
    { name: 'child', task_name: 'work', config: QUICK, depends_on: PARENTS },
  ];
  for (let i = 0; i < size; i++) {
    const { status } = await one.send('other', 'POST', '/api/v1/workflows', { body: { name: 'join', steps } });
    stage.expect(status === 201, `a workflow was answered ${status ?? ''}`);
  }
  const parents = await leaseMany(one, 'default', size * PARENTS.length, LEASE_SECS);
  stage.expect(parents.length === size * PARENTS.length, `${parents.length} parents of ${size} workflows`);
  const answers = await Promise.all(
    stage.random.shuffle(parents).map(({ id, token, job }, i) => {
      const client = inTurn(clients, i);
      return client.complete(id, token, { [`from-${String(job.workflow_step_id)}`]: id });
    }),
  );
  const refused = answers.filter(({ status }) => status !== 204);
  stage.expect(refused.length === 0, `${refused.length} parents were answered ${refused[0]?.status ?? ''}`);
  const children = await leaseMany(one, 'default', size + 1, LEASE_SECS);
  stage.expect(children.length === size, `${size} joins gave ${children.length} children`);
  for (const child of children) expectFullContext(stage, child, parents);
  await completeAll(one, children);
}

/** A result is in the context twice: whole, under the name of its step, and with its keys merged. */
function expectFullContext(stage: Stage, { id, job }: LeasedJob, leased: readonly LeasedJob[]): void {
  const { _context: context = {} } = job.payload as { _context?: Record<string, unknown> };
  const parents = leased.filter((parent) => parent.job.workflow_id === job.workflow_id);
  const missing = parents.filter((parent) => {
    const step = String(parent.job.workflow_step_id);
    const whole = context[step] as Record<string, unknown> | undefined;
    return context[`from-${step}`] !== parent.id || whole?.[`from-${step}`] !== parent.id;
  });
  stage.expect(parents.length === PARENTS.length, `child ${id} has ${parents.length} parents`);
  stage.expect(missing.length === 0, `the context of child ${id} lacks ${missing.length} of its parents`);
}
