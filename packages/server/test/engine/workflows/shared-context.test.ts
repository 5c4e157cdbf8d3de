import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { deadLettersOf, idsOf, lease } from '../kit.js';
import { openEvents } from '../jobs/sse.js';
import { chain, completeJob, hand, ok, workflowsOf, step } from './kit.js';

/** Contexts that are stored once and joined with the payload of each step that receives them. */
const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });
const workflows = workflowsOf(a);
const remote = hand(worker);

const LONG = 'x'.repeat(600);

interface Stored extends Record<string, unknown> {
  readonly step: string;
  readonly payload: string;
  readonly context: number | null;
}

/** What is stored of the jobs of a workflow's steps, by name of step. */
async function stored(workflow: string): Promise<Record<string, Stored>> {
  const rows = await database.query<Stored>(
    'SELECT step, payload::text AS payload, context FROM millrace.jobs WHERE workflow_id = $1',
    [workflow],
  );
  return Object.fromEntries(rows.map((row) => [row.step, row]));
}

const versions = async (workflow: string): Promise<number[]> => {
  const rows = await database.query<{ version: number }>(
    'SELECT version FROM millrace.workflow_contexts WHERE workflow_id = $1 ORDER BY version',
    [workflow],
  );
  return rows.map(({ version }) => version);
};

describe('a context that several steps receive', () => {
  it('is stored once, and the jobs of those steps name it', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
    const id = await workflows.create([step('root'), ...names.map((name) => step(name, ['root']))]);
    await remote.complete(id, 'root', { text: LONG });
    expect(await versions(id)).toEqual([1]);
    const jobs = await stored(id);
    for (const name of names) expect(jobs[name]).toMatchObject({ payload: '{}', context: 1 });
    for (const name of names) {
      expect((await remote.take(id, name)).job.payload).toEqual({ _context: { text: LONG, root: { text: LONG } } });
    }
  });

  it('is read once by a process, if it is long, however many claims deliver it', async () => {
    const text = 'x'.repeat(100_000);
    const id = await workflows.create([step('root'), step('y', ['root']), step('z', ['root'])]);
    await remote.complete(id, 'root', { text });
    const first = await remote.take(id, 'y');
    // A version never changes: nobody looks for it again, not even here, where it is gone.
    await database.query('DELETE FROM millrace.workflow_contexts WHERE workflow_id = $1', [id]);
    const second = await remote.take(id, 'z');
    expect(first.job.payload).toEqual({ _context: { text, root: { text } } });
    expect(second.job.payload).toEqual(first.job.payload);
  });

  it('stays in the payload where it is short', async () => {
    const id = await workflows.create(chain('x', 'y'));
    await remote.complete(id, 'x', { n: 1 });
    expect(await versions(id)).toEqual([]);
    expect((await stored(id)).y).toMatchObject({ payload: '{"_context":{"n":1,"x":{"n":1}}}', context: null });
  });

  it('is stored with the workflow where the first steps receive it', async () => {
    const id = await workflows.create({ name: 'w', context: { text: LONG }, steps: [step('x'), step('y')] });
    expect(await versions(id)).toEqual([1]);
    expect((await workflows.get(id)).context).toEqual({ text: LONG });
    for (const name of ['x', 'y']) {
      expect((await remote.take(id, name)).job.payload).toEqual({ _context: { text: LONG } });
    }
  });

  it('is that of the moment in which the step became ready, also when the step is tried again', async () => {
    const retry = { config: { max_retries: 3, retry_delay_secs: 0 } };
    const id = await workflows.create([
      step('x'),
      step('other'),
      step('y', ['x'], retry),
      step('z', ['other']),
      step('end', ['y', 'z']),
    ]);
    await remote.complete(id, 'x', { text: LONG, n: 1 });
    const early = { text: LONG, n: 1, x: { text: LONG, n: 1 } };
    await remote.complete(id, 'other', { n: 2 });
    expect((await remote.take(id, 'z')).job.payload._context).toEqual({ ...early, n: 2, other: { n: 2 } });
    expect((await workflows.job(id, 'y')).payload._context).toEqual(early);
    await remote.fail(id, 'y', { retryable: true });
    const { job } = await remote.take(id, 'y');
    expect(job).toMatchObject({ delivery_count: 2, payload: { _context: early } });
    expect(await versions(id)).toEqual([1, 2]);
  });

  it('is not stored again for steps that follow a failure, which adds nothing to it', async () => {
    const id = await workflows.create([step('x'), step('y', ['x'], { on_failure: 'continue' }), step('z', ['y'])]);
    await remote.complete(id, 'x', { text: LONG });
    await remote.fail(id, 'y');
    expect((await remote.take(id, 'z')).job.payload).toEqual({ _context: { text: LONG, x: { text: LONG } } });
    expect(await versions(id)).toEqual([1]);
  });

  it('is shown by the workflow while it runs, and after an end that merges nothing', async () => {
    const id = await workflows.create(chain('x', 'y'));
    await remote.complete(id, 'x', { text: LONG });
    const context = { text: LONG, x: { text: LONG } };
    expect((await workflows.get(id)).context).toEqual(context);
    await workflows.cancel(id);
    expect(await workflows.get(id)).toMatchObject({ status: 'cancelled', context });
    const { body } = await a.get('/api/v1/workflows?limit=1');
    expect(body.workflows[0]).toMatchObject({ id, context });
  });
});

describe('a payload with a context that is stored apart', () => {
  const OWN =
    '{ "z":12345678901234567890, "a" : 1.10,"_context":"workflows","\\u005fcontext":"workflows too","s":"\\u00e9\\/" }';
  const RESULT = `{"big":1E400,"s":"\\u00e9", "text":"${LONG}"}`;
  const KEPT = `"big":1E400,"s":"\\u00e9","text":"${LONG}"`;
  const EXPECTED = `{"z":12345678901234567890, "a" : 1.10,"s":"\\u00e9\\/","_context":{${KEPT},"x":${RESULT}}}`;

  /** A workflow whose step y waits on the queue. */
  async function waiting(own = OWN): Promise<{ id: string; y: string }> {
    const steps = `[{"name":"x","task_name":"t"},{"name":"y","task_name":"t","depends_on":["x"],"payload":${own}}]`;
    const reply = await a.post('/api/v1/workflows', `{"name":"w","steps":${steps}}`);
    const id = ok(reply).body.workflow_id as string;
    await remote.complete(id, 'x', RESULT);
    const y = await workflows.jobId(id, 'y');
    expect((await stored(id)).y!.context).toBe(1);
    return { id, y };
  }

  it('is the same text in every answer', async () => {
    const { id, y } = await waiting();
    const shown = `"payload":${EXPECTED},"config"`;
    expect((await a.get(`/api/v1/jobs/${y}`)).text).toContain(shown);
    expect((await a.get('/api/v1/jobs?limit=5')).text).toContain(shown);
    const events = await openEvents(a, y);
    expect((await events.next())!.payload).toEqual(JSON.parse(EXPECTED));
    const reply = await worker.post('/api/v1/queues/default/lease', { max_jobs: 100, lease_secs: 3_600 });
    expect(reply.text).toContain(shown);
    expect(await events.next()).toMatchObject({ status: 'running', payload: JSON.parse(EXPECTED) });
    const leased = reply.body.jobs.find(({ job }: any) => job.id === y);
    ok(await worker.post(`/api/v1/jobs/${y}/fail`, { lease_token: leased.lease_token, error: 'no', retryable: false }));
    expect(await events.rest()).toMatchObject([{ status: 'failed', payload: JSON.parse(EXPECTED) }]);
    expect((await a.get(`/api/v1/jobs/${y}`)).text).toContain(shown);
    expect((await workflows.get(id)).steps[1].payload).toEqual(JSON.parse(OWN));
  });

  it('counts with its context in the length of a page', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
    const id = await workflows.create([step('root'), ...names.map((name) => step(name, ['root']))]);
    const text = 'x'.repeat(1_500_000);
    await remote.complete(id, 'root', { text });
    const seen: string[] = [];
    // From a cursor on: pages by cursor are cut short.
    const first = ok(await a.get('/api/v1/jobs?limit=1')).body;
    seen.push(...first.jobs.map((job: any) => job.workflow_step_id));
    for (let cursor: string | undefined = first.next_cursor; seen.length < names.length;) {
      const { body } = ok(await a.get(`/api/v1/jobs?limit=100&cursor=${cursor}`));
      const ofThis = body.jobs.filter((job: any) => job.workflow_id === id && job.workflow_step_id !== 'root');
      // Twice the text each: five of them are 15 MB.
      expect(ofThis.length).toBeLessThanOrEqual(5);
      for (const job of ofThis) expect(job.payload._context.root.text === text).toBe(true);
      seen.push(...ofThis.map((job: any) => job.workflow_step_id));
      cursor = body.next_cursor;
    }
    expect(seen.sort()).toEqual([...names].sort());
    await workflows.cancel(id);
  });

  it.each([
    ['of its own', OWN, EXPECTED],
    ['that is empty', '{}', `{"_context":{${KEPT},"x":${RESULT}}}`],
    ['that is empty but for space', '{ }', `{"_context":{${KEPT},"x":${RESULT}}}`],
    ['with nothing but a context', '{"_context":1}', `{"_context":{${KEPT},"x":${RESULT}}}`],
  ])(
    'comes back to the letter when the dead letter of its step is replayed, with a payload %s',
    async (_, own, text) => {
      const { id, y } = await waiting(own);
      await remote.fail(id, 'y');
      const [letter] = await deadLettersOf(a, y);
      const { job_id: fresh } = ok(await a.post(`/api/v1/dlq/${letter!.id}/replay`)).body;
      const reply = await a.get(`/api/v1/jobs/${fresh}`);
      expect(reply.text).toContain(`"payload":${text},"config"`);
      expect(reply.body.workflow_id).toBeNull();
      expect(idsOf(await lease(worker, 'default', { max_jobs: 100 }))).toContain(fresh);
    },
  );
});

describe('a workflow that began before contexts were stored apart', () => {
  it('goes on with the context that its run carries, however long', async () => {
    const id = await workflows.create([step('x'), step('y', ['x']), step('z', ['x'])]);
    const { job, lease_token: token } = await remote.take(id, 'x');
    const old = { text: 'y'.repeat(3_000_000) };
    await database.query(
      'UPDATE millrace.workflow_runs SET context = $2, version = NULL, context_bytes = 0 WHERE id = $1',
      [id, JSON.stringify(old)],
    );
    ok(await completeJob(worker, job.id, token, { n: 1 }));
    for (const name of ['y', 'z']) {
      expect((await remote.take(id, name)).job.payload._context).toEqual({ ...old, n: 1, x: { n: 1 } });
    }
  });
});
