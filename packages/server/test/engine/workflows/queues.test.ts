import { describe, expect, it } from 'vitest';
import { startTestServer, useTestServer, type TestServer } from '../../support/server.js';
import { complete, lease, leaseOne, newQueue } from '../kit.js';
import { LONGEST_WAIT_SECS, inTime } from '../waiting.js';
import { step, workflowsOf } from './kit.js';

/** The queue of a step: a member of the step. */
const server = await useTestServer({ config: { mode: 'api', defaultQueue: 'the-default' } });
const { a, b, worker, database } = server;
const workflows = workflowsOf(a);

describe('a step with a queue', () => {
  it('runs there, first or later, and the others on the default queue', async () => {
    const [first, last] = [newQueue(), newQueue()];
    const id = await workflows.create([
      step('x', [], { queue: first }),
      step('y', ['x']),
      step('z', ['y'], { queue: last }),
    ]);
    expect((await workflows.get(id)).steps.map((each: { queue: unknown }) => each.queue)).toEqual([first, null, last]);
    for (const queue of [first, 'the-default', last]) await complete(worker, await leaseOne(worker, queue));
    expect(await workflows.status(id)).toBe('completed');
    expect((await workflows.job(id, 'z')).queue_name).toBe(last);
  });

  it('wakes a call that waits on it, also when it becomes ready', async () => {
    await inTime(LONGEST_WAIT_SECS, async () => {
      const queue = newQueue();
      const waiting = lease(worker, queue, { wait_secs: LONGEST_WAIT_SECS });
      const id = await workflows.create([step('x', [], { queue: 'one' }), step('y', ['x'], { queue })]);
      await complete(worker, await leaseOne(worker, 'one'));
      expect((await waiting).map(({ job }) => job.workflow_id)).toEqual([id]);
    });
  });

  it('may have any name but an empty one; null means none', async () => {
    const queue = 'a "queue" \\ of \n lines';
    const id = await workflows.create([step('x', [], { queue: null }), step('y', [], { queue })]);
    expect((await workflows.get(id)).steps).toMatchObject([{ queue: null }, { queue }]);
    expect((await workflows.job(id, 'y')).queue_name).toBe(queue);
    for (const bad of ['', 'x'.repeat(256), 'a\0b', 7]) {
      const reply = await a.post('/api/v1/workflows', { name: 'w', steps: [step('x', [], { queue: bad })] });
      expect([reply.status, reply.body.details[0].path]).toEqual([400, 'steps[0].queue']);
    }
  });

  it('has no effect from its configuration', async () => {
    const id = await workflows.create([step('x', [], { config: { queue: 'elsewhere' } })]);
    expect((await workflows.job(id, 'x')).queue_name).toBe('the-default');
  });

  it('is the same for a process that has to read the definition', async () => {
    const queue = newQueue();
    const id = await workflows.create([step('x', [], { queue: 'two' }), step('y', ['x'], { queue })]);
    const other = await startOther();
    await complete(other.worker, await leaseOne(other.worker, 'two'));
    expect((await leaseOne(worker, queue)).job.workflow_id).toBe(id);
    await other.stop();
  });

  it('is shown as null where a workflow was stored before there were such queues', async () => {
    const id = await workflows.create([step('x', [], { metadata: { queue: null } }), step('y', ['x'])]);
    await database.query(
      `UPDATE millrace.workflows SET definition = replace(definition::text, ',"queue":null}', '}')::json WHERE id = $1`,
      [id],
    );
    const other = await startOther();
    const { body } = await other.a.get(`/api/v1/workflows/${id}`);
    expect(body.steps.map((each: object) => Object.keys(each).at(-1))).toEqual(['queue', 'queue']);
    expect(body.steps).toMatchObject([{ queue: null }, { queue: null }]);
    expect((await b.get(`/api/v1/workflows/${id}`)).status).toBe(403);
    await other.stop();
  });
});

/** A process that knows nothing of what others read before. */
const startOther = (): Promise<TestServer> =>
  startTestServer({ database, config: { mode: 'api', defaultQueue: 'the-default' } });
