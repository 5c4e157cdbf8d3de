import { randomUUID } from 'node:crypto';
import type { WorkflowEvent } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { KEY_A, startTestServer } from '../../support/server.js';
import { startAnotherServer } from '../another-server.js';
import { Events } from '../jobs/sse.js';
import { hand, workflowsOf } from './kit.js';

type WorkflowEvents = Events<WorkflowEvent>;

describe('following a workflow', async () => {
  const database = await cloneDatabase();
  const server = await startTestServer({ database, config: { mode: 'api' } });
  const { a, b, worker } = server;
  const other = await startAnotherServer(database, { mode: 'api' });
  const elsewhere = createClient(other.apiUrl!, KEY_A);
  afterAll(async () => {
    await other.stop();
    await server.stop();
    await database.drop();
  });
  const flows = workflowsOf(a);
  const worked = hand(worker);

  const open = async (id: string, client: Client = a): Promise<WorkflowEvents> => {
    const response = await client.open('GET', `/api/v1/workflows/${id}/events`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    return new Events<WorkflowEvent>(response);
  };
  const statusesIn = ({ workflow, steps }: WorkflowEvent): string =>
    [workflow.status, ...steps.map(({ status }) => status)].join(' ');
  /** Events up to the one that shows these statuses of the workflow and its steps. */
  const until = async (events: WorkflowEvents, statuses: string): Promise<WorkflowEvent> => {
    for (;;) {
      const event = await events.next();
      expect(event, `the stream has ended before it was ${statuses}`).not.toBeNull();
      if (statusesIn(event!) === statuses) return event!;
    }
  };
  const chain = () => [
    { name: 'one', task_name: 'x' },
    { name: 'two', task_name: 'x', depends_on: ['one'] },
  ];

  it('ends with a workflow that fails, and shows it go on when it is opened again after a resume', async () => {
    const id = await flows.create({ name: 'order', steps: chain() });
    const before = [await open(id), await open(id, elsewhere)];
    await worked.complete(id, 'one', { n: 1 });
    await worked.fail(id, 'two');
    for (const events of before) {
      await until(events, 'failed completed failed');
      expect(await events.next()).toBeNull();
    }
    expect((await elsewhere.post(`/api/v1/workflows/${id}/resume`, {})).status).toBe(202);
    const after = [await open(id), await open(id, elsewhere)];
    for (const events of after) {
      const { workflow, steps } = await until(events, 'running completed pending');
      expect([workflow.completed_at, steps[1]!.run]).toEqual([null, 2]);
    }
    await worked.complete(id, 'two');
    for (const events of after) {
      await until(events, 'completed completed completed');
      expect(await events.next()).toBeNull();
    }
  });

  it('shows every state of the workflow and its steps that lasts, and ends with the workflow', async () => {
    const id = await flows.create({ name: 'order', steps: chain(), context: { n: 1 } });
    const streams = [await open(id), await open(id, elsewhere)];
    const all = (statuses: string): Promise<WorkflowEvent[]> =>
      Promise.all(streams.map((events) => until(events, statuses)));
    for (const { workflow, steps } of await all('created pending pending')) {
      expect(workflow).toEqual(await flows.get(id));
      expect(steps).toEqual(await flows.steps(id));
    }
    const { job, lease_token } = await worked.take(id, 'one');
    for (const { steps } of await all('running running pending')) expect(steps[0]!.attempts).toBe(1);
    await worker.post(`/api/v1/jobs/${job.id}/complete`, { lease_token, result: { made: 2 } });
    for (const { workflow } of await all('running completed pending')) {
      expect(workflow.context).toEqual({ n: 1, made: 2, one: { made: 2 } });
    }
    await worked.complete(id, 'two');
    for (const event of await all('completed completed completed')) {
      expect(event.workflow).toEqual(await flows.get(id));
      expect(event.steps).toEqual(await flows.steps(id));
    }
    for (const events of streams) expect(await events.next()).toBeNull();
  });

  it('shows a retry, with its error', async () => {
    const id = await flows.create([{ name: 'one', task_name: 'x', config: { retry_delay_secs: 0 } }]);
    const events = await open(id);
    await until(events, 'created pending');
    await worked.fail(id, 'one', { error: 'first', retryable: true });
    let event = await until(events, 'running running');
    while (event.steps[0]!.error_message === null) event = (await events.next())!;
    expect(event.steps[0]).toMatchObject({ attempts: 1, error_message: 'first', completed_at: null });
    await worked.complete(id, 'one');
    event = await until(events, 'completed completed');
    expect(event.steps[0]).toMatchObject({ attempts: 2, error_message: null, completed_at: expect.any(String) });
  });

  it('shows a cancellation', async () => {
    const id = await flows.create(chain());
    const events = await open(id);
    await until(events, 'created pending pending');
    await flows.cancel(id);
    await until(events, 'cancelled cancelled cancelled');
    expect(await events.next()).toBeNull();
  });

  it('of a workflow that has ended is one event', async () => {
    const id = await flows.create(chain());
    await flows.cancel(id);
    const events = await (await open(id)).rest();
    expect(events.map(statusesIn)).toEqual(['cancelled cancelled cancelled']);
  });

  it('never shows two equal events in a row', async () => {
    const id = await flows.create([{ name: 'one', task_name: 'x' }]);
    const events = await open(id, elsewhere);
    const first = await events.next();
    await worked.complete(id, 'one');
    const shown = [first, ...(await events.rest())].map((event) => JSON.stringify(event));
    expect(new Set(shown).size).toBe(shown.length);
  });

  it('ends with the retention of the workflow', async () => {
    const id = await flows.create([{ name: 'one', task_name: 'x' }]);
    const events = await open(id);
    await events.next();
    const gone = ['workflow_runs', 'workflows'].map((table) => `DELETE FROM millrace.${table} WHERE id = '${id}'`);
    await database.query([...gone, `DELETE FROM millrace.ready WHERE workflow_id = '${id}'`].join(';'));
    expect(await events.rest()).toEqual([]);
  });

  it('refuses as a read of the workflow does', async () => {
    const id = await flows.create(chain());
    expect((await b.get(`/api/v1/workflows/${id}/events`)).status).toBe(403);
    expect((await a.get(`/api/v1/workflows/${randomUUID()}/events`)).status).toBe(404);
    expect((await a.get('/api/v1/workflows/nonsense/events')).status).toBe(404);
    expect((await worker.get(`/api/v1/workflows/${id}/events`)).status).toBe(401);
    await flows.cancel(id);
  });

  it('is bounded by the steps that are watched', async () => {
    const steps = Array.from({ length: 1000 }, (_, n) => ({
      name: `s${n}`,
      task_name: 'x',
      depends_on: n ? ['s0'] : [],
    }));
    const ids = await Promise.all(Array.from({ length: 51 }, () => flows.create(steps)));
    const streams: WorkflowEvents[] = [];
    for (const id of ids.slice(0, 50)) streams.push(await open(id));
    const refused = await a.get(`/api/v1/workflows/${ids[50]}/events`);
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      expect.any(String),
    ]);
    // Another stream of a workflow that is watched needs no more room, and another tenant has its own.
    streams.push(await open(ids[0]!));
    const theirs = await workflowsOf(b).create(steps);
    streams.push(await open(theirs, b));
    await Promise.all(streams.map((events) => events.close()));
  });

  it('GET /workflows/{id}/steps tells when each step started and ended, how often it was tried, and what it last reported', async () => {
    const id = await flows.create([
      { name: 'good', task_name: 'x' },
      { name: 'bad', task_name: 'x', config: { max_retries: 1, retry_delay_secs: 0 }, on_failure: 'continue' },
      { name: 'late', task_name: 'x', depends_on: ['good', 'bad'] },
    ]);
    const unstarted = { started_at: null, completed_at: null, attempts: 0, error_message: null };
    for (const step of await flows.steps(id)) expect(step).toMatchObject(unstarted);
    await worked.complete(id, 'good');
    await worked.fail(id, 'bad', { error: 'one', retryable: true });
    await worked.fail(id, 'bad', { error: 'two', retryable: true });
    await worked.take(id, 'late');
    const [good, bad, late] = await flows.steps(id);
    const [job, badJob] = [await flows.job(id, 'good'), await flows.job(id, 'bad')];
    expect(good).toEqual({
      name: 'good',
      status: 'completed',
      job_id: job.id,
      started_at: job.started_at,
      completed_at: job.completed_at,
      attempts: 1,
      error_message: null,
      next_retry_at: null,
      run: 1,
      earlier_job_ids: [],
      skipped_by: null,
    });
    expect(bad).toEqual({
      name: 'bad',
      status: 'failed',
      job_id: badJob.id,
      started_at: badJob.started_at,
      completed_at: badJob.completed_at,
      attempts: 2,
      error_message: 'two',
      next_retry_at: null,
      run: 1,
      earlier_job_ids: [],
      skipped_by: null,
    });
    expect(late).toMatchObject({ status: 'running', started_at: expect.any(String), completed_at: null, attempts: 1 });
  });
});
