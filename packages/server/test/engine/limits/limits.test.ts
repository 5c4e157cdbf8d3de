import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { createClient } from '../../support/client.js';
import { KEY_A, startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { violationsIn } from '../../support/violations.js';
import { startAnotherServer } from '../another-server.js';
import { blockLeaseOf } from '../blocking.js';
import { suspend } from '../durable/kit.js';
import * as kit from '../kit.js';
import { complete, createJob, fail, idsOf, lease, newQueue, SWEEP_OFTEN, type Leased } from '../kit.js';
import { perform } from '../operations/operation-kit.js';
import { leaseSome } from '../waiting.js';

describe('limits by key', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, config: { workers: 1 }, intervals: SWEEP_OFTEN });
  const other = await startAnotherServer(database, { workers: 1 });
  const { a, b, worker, admin } = server;
  const a2 = createClient(other.apiUrl!, KEY_A);
  afterAll(async () => {
    await other.stop();
    await server.stop();
    await database.drop();
  });

  const of = (key: string, running: number, more: object = {}): { config: object } => ({
    config: { limits: [{ key, running }], ...more },
  });
  /** The next jobs that can be had; waits for the first of them. */
  const next = (queue: string, max_jobs = 100): Promise<Leased[]> => leaseSome(worker, queue, { max_jobs });
  const one = async (queue: string): Promise<Leased> => {
    const leased = await next(queue, 1);
    expect(leased).toHaveLength(1);
    return leased[0]!;
  };
  const none = async (queue: string): Promise<void> =>
    expect(await lease(worker, queue, { max_jobs: 100 })).toEqual([]);
  /** A queue on which one job of the key runs, and another waits. */
  const oneOfTwo = async (more: object = {}): Promise<{ queue: string; held: Leased; waiting: string }> => {
    const queue = newQueue();
    await createJob(a, queue, of('k', 1, more));
    const waiting = await createJob(a, queue, of('k', 1, more));
    const held = await one(queue);
    await none(queue);
    return { queue, held, waiting };
  };
  const finish = async (queue: string, id: string): Promise<void> => {
    const leased = await one(queue);
    expect(leased.job.id).toBe(id);
    await complete(worker, leased);
  };

  it('lets no more jobs of a key run than it says, and the next one in when one ends', async () => {
    const queue = newQueue();
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) ids.push(await createJob(n % 2 === 0 ? a : a2, queue, of('user-1', 2)));
    const first = await lease(worker, queue, { max_jobs: 100 });
    expect(idsOf(first)).toEqual(ids.slice(0, 2));
    await none(queue);
    await complete(worker, first[0]!);
    const third = await one(queue);
    expect(third.job.id).toBe(ids[2]);
    await none(queue);
    await complete(worker, third);
    await complete(worker, first[1]!);
    await finish(queue, ids[3]!);
  });

  it('lets in whoever joined the line while the job before him was ending', async () => {
    const queue = newQueue();
    await createJob(a, queue, of('k', 1));
    const held = await one(queue);
    // The completion has begun, and has not seen the job that comes now.
    const block = await blockLeaseOf(database, held.job.id);
    const completed = complete(worker, held);
    await block.held();
    const waiting = await createJob(a, queue, of('k', 1));
    await none(queue);
    await block.release();
    await completed;
    await finish(queue, waiting);
  });

  it('lets a job into its queue as it is created where a line has run out, before anybody has looked', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    await complete(worker, held);
    await finish(queue, waiting);
    await database.query('UPDATE millrace.limits SET waiting = true WHERE queue = $1', [queue]);
    const id = await createJob(a, queue, of('k', 1));
    // Whoever looks later moves it in a transaction of his own.
    const rows = await database.query<{ same: boolean }>(
      `SELECT r.xmin = j.xmin AS same FROM millrace.ready r JOIN millrace.jobs j ON j.tenant = r.tenant AND j.id = r.id
       WHERE r.id = $1 AND r.waits_for IS NULL`,
      [id],
    );
    expect(rows).toEqual([{ same: true }]);
    await finish(queue, id);
  });

  it('says how many of a key run, of which none do once they have ended', async () => {
    const queue = newQueue();
    await createJob(a, queue, of('k', 2));
    const running = async (): Promise<number> => {
      const { body } = await a.get(`/api/v1/limits?queue=${queue}`);
      // A limit that nobody uses is soon forgotten.
      return (body.limits[0]?.running ?? 0) as number;
    };
    const held = await one(queue);
    expect(await running()).toBe(1);
    await complete(worker, held);
    expect(await running()).toBe(0);
  });

  it('lets those of a higher priority in first, then those that are due earlier', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    const urgent = await createJob(a, queue, of('k', 1, { priority: 5 }));
    const early = await createJob(a, queue, { ...of('k', 1), run_at: '2020-01-01T00:00:00Z' });
    await complete(worker, held);
    for (const id of [urgent, early, waiting]) await finish(queue, id);
  });

  it('keeps nobody waiting for a key that is not its own: of another name, queue or tenant', async () => {
    const { queue, held } = await oneOfTwo();
    const elsewhere = newQueue();
    const others = [
      await createJob(a, queue),
      await createJob(a, queue, of('k2', 1)),
      await createJob(b, queue, of('k', 1)),
    ];
    const far = await createJob(a, elsewhere, of('k', 1));
    const leased = [...(await lease(worker, queue, { max_jobs: 100 })), ...(await lease(worker, elsewhere))];
    expect(idsOf(leased).sort()).toEqual([...others, far].sort());
    for (const each of [...leased, held]) await complete(worker, each);
    await complete(worker, await one(queue));
  });

  it.each<[string, (held: Leased) => Promise<unknown>]>([
    ['a failure that is retried', (held) => fail(worker, held)],
    ['a failure for good', (held) => fail(worker, held, { retryable: false })],
    ['a cancellation', (held) => kit.cancel(a, held.job.id)],
    ['a release with a delay', (held) => kit.report(worker, 'release', held, { delay_secs: 3600 })],
    ['a sleep', (held) => suspend(worker, held, { checkpoint: 'pause', delay_secs: 3600 })],
    [
      'a wait for a signal',
      (held) => {
        const wait = { signal: { name: 'go', key: held.job.id } };
        return suspend(worker, held, { checkpoint: 'go', delay_secs: 3600, wait });
      },
    ],
    ['a lease that expires', (held) => kit.expireLease(database, held.job.id)],
    ['a bulk cancellation', (held) => a.post('/api/v1/operations', { action: 'cancel_jobs', ids: [held.job.id] })],
  ])('gives the room back after %s', async (_, end) => {
    const { queue, held, waiting } = await oneOfTwo({ retry_delay_secs: 3600 });
    await end(held);
    await finish(queue, waiting);
    await kit.cancel(a, held.job.id);
  });

  it('gives room back once, whatever a stale worker reports', async () => {
    const { queue, held, waiting } = await oneOfTwo({ retry_delay_secs: 3600 });
    const third = await createJob(a, queue, of('k', 1));
    await fail(worker, held);
    const second = await one(queue);
    expect(second.job.id).toBe(waiting);
    expect((await complete(worker, held)).status).toBe(409);
    expect((await fail(worker, held)).status).toBe(409);
    await none(queue);
    await complete(worker, second);
    expect((await complete(worker, second)).status).toBe(204);
    await finish(queue, third);
    await kit.cancel(a, held.job.id);
  });

  it('gives the room of an admitted job back when it is cancelled before anybody claims it', async () => {
    const queue = newQueue();
    const [admitted, waiting] = [await createJob(a, queue, of('k', 1)), await createJob(a, queue, of('k', 1))];
    await kit.cancel(a, admitted);
    await finish(queue, waiting);
  });

  it('never admits a job that was cancelled while it waited', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    const third = await createJob(a, queue, of('k', 1));
    expect((await kit.cancel(a, waiting)).status).toBe(204);
    await complete(worker, held);
    await finish(queue, third);
    expect(await kit.getJob(a, waiting)).toMatchObject({ status: 'cancelled', delivery_count: 0 });
  });

  it('a bulk cancellation finds those that wait in line, and leaves the line to who comes after', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    const third = await createJob(a, queue, of('k', 1));
    const operation = await perform(a, { action: 'cancel_jobs', filter: { queue, status: 'pending' } });
    expect(operation).toMatchObject({ status: 'completed', done: 2 });
    for (const id of [waiting, third]) expect(await kit.getJob(a, id)).toMatchObject({ status: 'cancelled' });
    const last = await createJob(a, queue, of('k', 1));
    await none(queue);
    await complete(worker, held);
    await finish(queue, last);
  });

  it('while the queue is paused nobody gets a job of the key; then the line goes on', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    expect((await admin.post(`/api/v1/admin/queues/${queue}/pause`)).status).toBe(204);
    await complete(worker, held);
    await until(async () => (await why(waiting)).reason === 'queue_paused', { what: 'the next one to be let in' });
    await none(queue);
    expect((await admin.post(`/api/v1/admin/queues/${queue}/resume`)).status).toBe(204);
    await finish(queue, waiting);
  });

  it('a released job waits in line like any other', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    await kit.report(worker, 'release', held, {});
    // It is due since before the other, so it is first again.
    await finish(queue, held.job.id);
    await finish(queue, waiting);
  });

  it('the backoff of a retry holds no room, and the retry takes some', async () => {
    const { queue, held, waiting } = await oneOfTwo({ retry_delay_secs: 60, jitter_factor: 0 });
    await fail(worker, held);
    const second = await one(queue);
    expect(second.job.id).toBe(waiting);
    await clock.advance(61);
    await until(async () => (await why(held.job.id)).reason === 'limited', { what: 'the retry to wait in line' });
    await none(queue);
    await complete(worker, second);
    await finish(queue, held.job.id);
  });

  const why = async (id: string): Promise<any> => (await a.get(`/api/v1/jobs/${id}/why`)).body;

  it('a delayed job takes room when it is due, and run-now makes it due', async () => {
    const queue = newQueue();
    const delayed = await createJob(a, queue, { ...of('k', 1), delay_secs: 3600 });
    const later = await createJob(a, queue, { ...of('k', 1), delay_secs: 3600 });
    expect((await why(delayed)).reason).toBe('due_later');
    const prompt = await createJob(a, queue, of('k', 1));
    await finish(queue, prompt);
    await none(queue);
    expect((await a.post(`/api/v1/jobs/${delayed}/run-now`)).status).toBe(204);
    await finish(queue, delayed);
    await clock.advance(3601);
    await finish(queue, later);
  });

  it('starts a job with two limits when both have room, and reserves nothing for it', async () => {
    const queue = newQueue();
    const both = {
      config: {
        limits: [
          { key: 'x', running: 1 },
          { key: 'y', running: 1 },
        ],
      },
    };
    const [x, y] = [await createJob(a, queue, of('x', 1)), await createJob(a, queue, of('y', 1))];
    const held = await lease(worker, queue, { max_jobs: 2 });
    const waiting = await createJob(a, queue, both);
    await none(queue);
    // It waits for x; once that is free it waits for y, and others may have x.
    await complete(
      worker,
      held.find(({ job }) => job.id === x)!,
    );
    await until(async () => (await why(waiting)).limit?.key === 'y', { what: 'it to wait for the other one' });
    await finish(queue, await createJob(a, queue, of('x', 1)));
    await none(queue);
    await complete(
      worker,
      held.find(({ job }) => job.id === y)!,
    );
    const started = await one(queue);
    expect(started.job.id).toBe(waiting);
    const behind = [await createJob(a, queue, of('x', 1)), await createJob(a, queue, of('y', 1))];
    await none(queue);
    await complete(worker, started);
    for (const each of [await one(queue), await one(queue)]) await complete(worker, each);
    for (const id of behind) await kit.waitFor(a, id, 'completed');
  });

  it('starts a job although the other limit that it names was dropped while it waited', async () => {
    const queue = newQueue();
    await createJob(a, queue, of('y', 1));
    const held = await one(queue);
    const config = {
      limits: [
        { key: 'y', running: 1 },
        { key: 'x', running: 1 },
      ],
    };
    const waiting = await createJob(a, queue, { config });
    // As the sweep does it, since nobody uses x.
    await database.query(`DELETE FROM millrace.limits WHERE queue = $1 AND key = 'x'`, [queue]);
    await complete(worker, held);
    await finish(queue, waiting);
  });

  it('the numbers are those of the newest job: lowered, nothing new starts; raised, more do', async () => {
    const queue = newQueue();
    for (let n = 0; n < 2; n++) await createJob(a, queue, of('k', 2));
    const held = await lease(worker, queue, { max_jobs: 2 });
    for (let n = 0; n < 2; n++) await createJob(a, queue, of('k', 1));
    await complete(worker, held[0]!);
    await none(queue);
    expect((await kit.getJob(a, held[1]!.job.id)).status).toBe('running');
    await createJob(a2, queue, of('k', 3));
    const more = [await one(queue), await one(queue)];
    await none(queue);
    for (const each of [...more, held[1]!]) await complete(worker, each);
    await complete(worker, await one(queue));
  });

  const limits = [
    { key: 'x', running: 1 },
    { key: 'y', running: 2, rate: { count: 100, per_secs: 60, burst: 9 } },
  ];
  const schedule = async (queue: string, cron_expr: string): Promise<string> => {
    const { status, text, body } = await a.post('/api/v1/cron', {
      ...{ name: queue, cron_expr, task_name: 'task', queue },
      config: { limits },
    });
    expect(status, text).toBe(201);
    return body.cron_id as string;
  };
  const workflowOf = async (...steps: object[]): Promise<unknown> =>
    expect((await a.post('/api/v1/workflows', { name: 'w', steps })).status).toBe(201);

  it.each<[string, (queue: string, failed: string) => Promise<unknown>]>([
    ['a job', (queue) => createJob(a, queue, { config: { limits } })],
    ['a step', (queue) => workflowOf({ name: 's', task_name: 'task', queue, config: { limits } })],
    [
      'a step that follows another',
      async (queue) => {
        const before = newQueue();
        const first = { name: 'one', task_name: 'task', queue: before };
        await workflowOf(first, { name: 'two', task_name: 'task', queue, depends_on: ['one'], config: { limits } });
        await complete(worker, await one(before));
      },
    ],
    [
      'a schedule that is triggered',
      async (queue) => a.post(`/api/v1/cron/${await schedule(queue, '0 0 1 1 *')}/trigger`),
    ],
    [
      'a schedule that fires',
      async (queue) => {
        const id = await schedule(queue, '* * * * *');
        await clock.advance(60);
        await until(async () => (await kit.listAll(a, `queue=${queue}&status=pending`)).length > 0);
        await a.post(`/api/v1/cron/${id}/pause`);
      },
    ],
    ['a replay', async (_, failed) => a.post(`/api/v1/dlq/${(await kit.deadLettersOf(a, failed))[0]!.id}/replay`)],
    [
      'replays in bulk',
      async (_, failed) =>
        perform(a, { action: 'replay_dead_letters', ids: [String((await kit.deadLettersOf(a, failed))[0]!.id)] }),
    ],
    ['reruns in bulk', (_, failed) => perform(a, { action: 'rerun_jobs', ids: [failed] })],
  ])('the numbers of both of its limits are those of %s, if it is the newest', async (_, create) => {
    const queue = newQueue();
    const failed = await createJob(a, queue, { config: { limits } });
    await fail(worker, await one(queue), { retryable: false });
    await createJob(a, queue, of('y', 1));
    const held = await one(queue);
    await create(queue, failed);
    const other = await one(queue);
    const { body } = await a.get(`/api/v1/limits?queue=${queue}`);
    expect(body.limits).toMatchObject([
      { key: 'x', running: 1, limit: 1, rate: null },
      { key: 'y', running: 2, limit: 2, rate: limits[1]!.rate },
    ]);
    for (const each of [held, other]) await complete(worker, each);
  });

  it('counts what came in one batch, and creates a keyed job once', async () => {
    const queue = newQueue();
    const job = { task_name: 'task', config: { queue, limits: [{ key: 'k', running: 2 }] } };
    const plain = { task_name: 'task', config: { queue } };
    const batch = await a.post('/api/v1/jobs/batch', { jobs: [job, plain, job, job] });
    expect(batch.status, batch.text).toBe(201);
    const [first, second, third] = batch.body.job_ids as string[];
    const leased = await lease(worker, queue, { max_jobs: 100 });
    expect(idsOf(leased).sort()).toEqual([first, second, third].sort());
    const headers = { 'idempotency-key': `key-${queue}` };
    const keyed = await Promise.all([a, a2, a].map((client) => client.post('/api/v1/jobs', job, headers)));
    expect(new Set(keyed.map(({ body }) => body.job_id)).size).toBe(1);
    const item = { ...job, idempotency_key: `item-${queue}` };
    const items = await a.post('/api/v1/jobs/batch', { jobs: [item, { ...plain, idempotency_key: `plain-${queue}` }] });
    expect(items.status, items.text).toBe(201);
    const repeated = await a2.post('/api/v1/jobs/batch', {
      jobs: [{ ...item, idempotency_key: `new-${queue}` }, item],
    });
    expect(repeated.body).toMatchObject({ job_ids: [expect.any(String), items.body.job_ids[0]], replayed: [1] });
    for (const each of [...leased, ...(await lease(worker, queue))]) await complete(worker, each);
    const rest = [await one(queue), await one(queue)];
    expect(idsOf(rest).sort()).toEqual([batch.body.job_ids[3], keyed[0]!.body.job_id].sort());
    await none(queue);
    for (const each of rest) await complete(worker, each);
    for (const id of [items.body.job_ids[0], repeated.body.job_ids[0]]) await finish(queue, id as string);
  });

  it('holds for copies, schedules and steps too', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    const limits = [{ key: 'k', running: 1 }];
    const rerun = await a.post(`/api/v1/jobs/${held.job.id}/rerun`);
    const cron = await a.post('/api/v1/cron', {
      name: queue,
      cron_expr: '0 0 1 1 *',
      task_name: 'task',
      queue,
      config: { limits },
    });
    expect(cron.status, cron.text).toBe(201);
    const fired = await a.post(`/api/v1/cron/${cron.body.cron_id}/trigger`);
    expect(fired.status, fired.text).toBe(201);
    const steps = ['one', 'two'].map((name, n) => ({
      name,
      task_name: 'task',
      queue,
      depends_on: n === 0 ? [] : ['one'],
      config: { limits },
    }));
    const workflow = await a.post('/api/v1/workflows', { name: 'w', steps });
    expect(workflow.status, workflow.text).toBe(201);
    await none(queue);
    await fail(worker, held, { retryable: false });
    await finish(queue, waiting);
    const [letter] = await kit.deadLettersOf(a, held.job.id);
    const replay = await a.post(`/api/v1/dlq/${letter!.id}/replay`);
    expect(replay.status, replay.text).toBe(201);
    const seen: string[] = [];
    while (seen.length < 5) {
      const leased = await one(queue);
      await none(queue);
      seen.push(leased.job.id);
      await complete(worker, leased);
    }
    expect(seen).toEqual(expect.arrayContaining([rerun.body.job_id, fired.body.job_id, replay.body.job_id]));
    await until(
      async () => (await a.get(`/api/v1/workflows/${workflow.body.workflow_id}`)).body.status === 'completed',
    );
    expect((await a.post(`/api/v1/cron/${cron.body.cron_id}/pause`)).status).toBe(204);
  });

  it('cancelling a workflow gives back the room of its steps', async () => {
    const queue = newQueue();
    const step = (name: string): object => ({ name, task_name: 'task', queue, ...of('k', 1) });
    const { body } = await a.post('/api/v1/workflows', { name: 'w', steps: [step('one'), step('two')] });
    await one(queue);
    const after = await createJob(a, queue, of('k', 1));
    expect((await a.post(`/api/v1/workflows/${body.workflow_id}/cancel`)).status).toBe(204);
    await finish(queue, after);
  });

  it('shows the limits of a job in its configuration, and waiting jobs as pending', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    expect(await kit.getJob(a, waiting)).toMatchObject({
      status: 'pending',
      config: { max_retries: 3, limits: [{ key: 'k', running: 1 }] },
    });
    expect((await a.get(`/api/v1/jobs?queue=${queue}&status=pending`)).body.jobs).toHaveLength(1);
    const depths = (await a.get('/api/v1/queues')).body.queues as { queue: string }[];
    expect(depths.find((each) => each.queue === queue)).toMatchObject({ pending: 1, running: 1 });
    await complete(worker, held);
    await finish(queue, waiting);
  });

  it('why says how many run, how many may, and how many wait before it', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    const last = await createJob(a, queue, of('k', 1));
    expect(await why(last)).toEqual({
      reason: 'limited',
      message: '1 of 1 running for k; 1 of that key before it.',
      ahead: 1,
      limit: { key: 'k', running: 1, limit: 1 },
    });
    expect((await why(waiting)).message).toBe('1 of 1 running for k; it is the next of that key.');
    await complete(worker, held);
    for (const id of [waiting, last]) await finish(queue, id);
  });

  it('lists the keys that are in use, with what runs and waits, to their tenant and to the operator', async () => {
    const queue = newQueue();
    for (const key of ['m', 'm', 'n']) await createJob(a, queue, of(key, 1));
    await createJob(b, queue, of('m', 4));
    const { created_at: oldest } = await kit.getJob(a, await createJob(a, queue, of('n', 1)));
    const [first] = (await a.get(`/api/v1/limits?queue=${queue}&limit=1`)).body.limits as object[];
    const shown = { queue, running: 1, limit: 1, rate: null, waiting: 1 };
    expect(first).toEqual({ ...shown, key: 'm', oldest: expect.any(String) });
    const page = (await a.get(`/api/v1/limits?queue=${queue}&limit=1`)).body;
    expect(page.has_more).toBe(true);
    const rest = (await a.get(`/api/v1/limits?queue=${queue}&cursor=${page.next_cursor}`)).body;
    expect(rest).toEqual({ limits: [{ ...shown, key: 'n', oldest }], has_more: false });
    const all = (await server.admin.get(`/api/v1/admin/limits?queue=${queue}`)).body.limits as object[];
    expect(all).toHaveLength(3);
    expect(all[2]).toMatchObject({ tenant_id: 'tenant-b', key: 'm', running: 1, limit: 4, waiting: 0, oldest: null });
    const paged: object[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { body } = await server.admin.get(`/api/v1/admin/limits?queue=${queue}&limit=1${cursor}`);
      expect(body.limits).toHaveLength(1);
      paged.push(...body.limits);
      cursor = body.has_more ? `&cursor=${encodeURIComponent(body.next_cursor as string)}` : undefined;
    }
    expect(paged).toEqual(all);
    expect((await a.get('/api/v1/limits?cursor=x')).status).toBe(400);
    for (let n = 0; n < 5; n++) await complete(worker, await one(queue));
    await until(async () => (await a.get(`/api/v1/limits?queue=${queue}`)).body.limits.length === 0, {
      what: 'keys that nobody names to be dropped',
    });
  });

  it('leaves no room behind, and nobody who waits for nothing', async () => {
    expect(await violationsIn(database)).toEqual([]);
  });

  it('doctor finds room that nobody holds, and jobs that wait for none', async () => {
    const queue = newQueue();
    await createJob(a, queue, of('k', 5));
    const held = await one(queue);
    const admitted = await createJob(a, queue, of('k', 5));
    // Nobody else is to find it first.
    const turn = (at: string): Promise<unknown> =>
      database.query(`UPDATE millrace.loops SET last_run_at = ${at} WHERE name = 'limits'`);
    await turn(`'infinity'`);
    const put = (later: string, line: string): Promise<unknown> =>
      database.query(`UPDATE millrace.ready SET later = ${later}, waits_for = ${line} WHERE id = $1`, [admitted]);
    // Back into a line, which nobody was told.
    await put('false', 'limits[1]');
    const found = await violationsIn(database);
    expect(found.map(({ check, violations }) => [check, violations])).toEqual([
      ['limit_counts_what_holds_room', 1],
      ['waiting_job_waits_for_room', 1],
    ]);
    await put('NULL', 'NULL');
    await turn('test_clock.now()');
    await complete(worker, held);
    await finish(queue, admitted);
  });

  it('gives back room that a process of an earlier version left behind', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    // What such a process does: it ends the job, and knows nothing of limits.
    await database.query(
      `WITH gone AS (DELETE FROM millrace.leases WHERE id = $1 RETURNING *)
       INSERT INTO millrace.done (completed_at, started_at, retry_count, delivery_count, status, id, tenant, result)
       SELECT now(), started_at, 0, 1, 'completed', id, tenant, '{}' FROM gone`,
      [held.job.id],
    );
    await none(queue);
    await database.query(`UPDATE millrace.loops SET last_run_at = '-infinity' WHERE name = 'limits'`);
    const third = await startAnotherServer(database, { workers: 1 });
    await finish(queue, waiting);
    await third.stop();
  });

  it('counts a job that such a process put back as one that holds room', async () => {
    const { queue, held, waiting } = await oneOfTwo();
    await database.query(
      `WITH gone AS (DELETE FROM millrace.leases WHERE id = $1 RETURNING *)
       INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
       SELECT now(), 0, 0, 1, id, tenant, $2 FROM gone`,
      [held.job.id, queue],
    );
    await database.query(`UPDATE millrace.loops SET last_run_at = '-infinity' WHERE name = 'limits'`);
    const third = await startAnotherServer(database, { workers: 1 });
    const again = await one(queue);
    expect(again.job.id).toBe(held.job.id);
    await none(queue);
    await third.stop();
    await complete(worker, again);
    await finish(queue, waiting);
  });

  it.each<[object, string]>([
    [{ limits: [] }, 'config.limits'],
    [
      {
        limits: [
          { key: 'a', running: 1 },
          { key: 'b', running: 1 },
          { key: 'c', running: 1 },
        ],
      },
      'config.limits',
    ],
    [
      {
        limits: [
          { key: 'a', running: 1 },
          { key: 'a', running: 2 },
        ],
      },
      'config.limits[1].key',
    ],
    [{ limits: [{ key: '', running: 1 }] }, 'config.limits[0].key'],
    [{ limits: [{ key: 'x'.repeat(201), running: 1 }] }, 'config.limits[0].key'],
    [{ limits: [{ key: 'a', running: 0 }] }, 'config.limits[0].running'],
    [{ limits: [{ key: 'a', running: 10_001 }] }, 'config.limits[0].running'],
    [{ limits: [{ key: 'a' }] }, 'config.limits[0].running'],
  ])('refuses %j', async (config, path) => {
    const reply = await a.post('/api/v1/jobs', { task_name: 'task', config });
    expect(reply.status).toBe(400);
    expect(reply.body.details[0].path).toBe(path);
  });
});
