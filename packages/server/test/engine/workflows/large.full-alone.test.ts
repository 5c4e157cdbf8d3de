import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { expectLegal } from './invariants.js';
import { workflowsOf, step, TERMINAL } from './kit.js';

/** Large graphs, run inside the server. Times are only ever compared with each other. */
describe('a large workflow', async () => {
  const { a, database } = await useTestServer({ handlers: { one: () => ({ done: 1 }) } });
  const workflows = workflowsOf(a);
  const one = (name: string, dependsOn: readonly string[] = []): object => step(name, dependsOn, { task_name: 'one' });
  const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `n${n}`);

  /** Runs it to its end and returns how long that took, by the clock of the database. */
  async function run(steps: readonly object[]): Promise<{ id: string; seconds: number; context: any }> {
    const id = await workflows.create(steps);
    await until(async () => TERMINAL.includes(await workflows.status(id)), { everyMs: 50 });
    const { status, created_at, completed_at, context } = await workflows.get(id);
    expect(status).toBe('completed');
    return { id, context, seconds: (Date.parse(completed_at) - Date.parse(created_at)) / 1000 };
  }

  const fanIn = (width: number): object[] => [
    one('root'),
    ...names(width).map((name) => one(name, ['root'])),
    one('join', names(width)),
  ];

  it('of a thousand steps costs as much a step as one of a hundred, give or take', async () => {
    await run(fanIn(98));
    // One after the other, again and again: a spell in which the machine is slow may begin between the two.
    const large = await until(
      async () => {
        const [less, more] = [await run(fanIn(98)), await run(fanIn(998))];
        return more.seconds / 1000 < (4 * less.seconds) / 100 ? more : `${more.seconds} s, and ${less.seconds} s`;
      },
      { what: 'a thousand steps to cost no more each' },
    );
    const steps = await workflows.steps(large.id);
    expect(steps.every((each) => each.status === 'completed' && each.job_id !== null)).toBe(true);
    expect(new Set(steps.map((each) => each.job_id)).size).toBe(1000);
    expect(Object.keys(large.context)).toHaveLength(1001);
  });

  it('joins two hundred branches once, with all that they found', async () => {
    const { id } = await run(fanIn(200));
    const { payload, delivery_count } = await workflows.job(id, 'join');
    expect(Object.keys(payload._context).sort()).toEqual(['done', 'root', ...names(200)].sort());
    expect(delivery_count).toBe(1);
    const [row] = await database.query(`SELECT count(*)::int AS n FROM millrace.jobs WHERE workflow_id = $1`, [id]);
    expect(row).toEqual({ n: 202 });
  });

  it('may be a thousand steps deep', async () => {
    const chain = names(1000).map((name, n) => one(name, n === 0 ? [] : [`n${n - 1}`]));
    const { id, context } = await run(chain);
    expect(Object.keys(context)).toHaveLength(1001);
    const last = await workflows.job(id, 'n999');
    expect(Object.keys(last.payload._context)).toHaveLength(1000);
  });

  it('may be dense: every step depends on every step of the layer before', async () => {
    const layers = Array.from({ length: 10 }, (_, layer) => names(40).map((name) => `${layer}-${name}`));
    const { id } = await run(
      layers.flatMap((layer, n) => layer.map((name) => one(name, n === 0 ? [] : layers[n - 1]))),
    );
    expect((await workflows.steps(id)).filter((each) => each.status === 'completed')).toHaveLength(400);
    await expectLegal(database, { ended: true });
  });

  it('stops as a whole: a thousand jobs are cancelled with it', async () => {
    const id = await workflows.create(
      names(1000).map((name) => step(name, [], { task_name: 'sleep', payload: { duration: 600 } })),
    );
    await workflows.cancel(id);
    const statuses = await database.query(
      `SELECT r.status, count(*)::int AS n FROM millrace.jobs j
       JOIN millrace.job_records r ON r.tenant = j.tenant AND r.id = j.id WHERE j.workflow_id = $1 GROUP BY 1`,
      [id],
    );
    expect(statuses).toEqual([{ status: 'cancelled', n: 1000 }]);
    await expectLegal(database, { ended: true });
  });
});
