import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { cancel, complete, createJob, fail, getJob, lease, leaseOne, newQueue } from '../kit.js';
import { inTime, LONGEST_WAIT_SECS } from '../waiting.js';
import { workflowsOf } from '../workflows/kit.js';

const { a, b, worker, nobody } = await useTestServer({ config: { mode: 'api' } });
const rerun = (id: string, client = a) => client.post(`/api/v1/jobs/${id}/rerun`);

describe('running a job again', () => {
  it('creates a fresh copy, whatever became of the first one', async () => {
    const queue = newQueue();
    const ended = async (end: (id: string) => Promise<unknown>): Promise<string> => {
      const id = await createJob(a, queue, { metadata: { m: 1 }, config: { priority: 4, max_retries: 0 } });
      await end(id);
      return id;
    };
    const ids = [
      await ended(async () => complete(worker, await leaseOne(worker, queue))),
      await ended(async () => fail(worker, await leaseOne(worker, queue))),
      await ended((id) => cancel(a, id)),
      await ended(async () => leaseOne(worker, queue)),
      await ended(async () => undefined),
    ];
    for (const id of ids) {
      const before = await getJob(a, id);
      const reply = await rerun(id);
      expect(reply.status, reply.text).toBe(201);
      expect(Object.keys(reply.body)).toEqual(['job_id']);
      expect(reply.headers.get('location')).toBe(`/api/v1/jobs/${reply.body.job_id}`);
      const copy = await getJob(a, reply.body.job_id);
      expect(copy).toMatchObject({
        status: 'pending',
        queue_name: queue,
        task_name: before.task_name,
        payload: before.payload,
        config: before.config,
        metadata: { m: 1, rerun_of: id },
        retry_count: 0,
        delivery_count: 0,
        idempotency_key: null,
        scheduled_at: copy.created_at,
      });
      expect(copy.id).not.toBe(id);
      expect(await getJob(a, id)).toEqual(before);
      await cancel(a, copy.id);
    }
  });

  it('runs at once, even if the first one was for later, and can be run again in turn', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { delay_secs: 3600, metadata: { rerun_of: 'mine' } });
    const first = (await rerun(id)).body.job_id as string;
    const second = (await rerun(first)).body.job_id as string;
    const leased = await lease(worker, queue, { max_jobs: 10 });
    expect(leased.map(({ job }) => [job.id, job.metadata])).toEqual([
      [first, { rerun_of: id }],
      [second, { rerun_of: first }],
    ]);
  });

  it('keeps payload and metadata to the byte', async () => {
    const queue = newQueue();
    const payload = '{ "big": 12345678901234567890,\n "a":"\\u0041", "nul":"\\u0000" }';
    const made = await a.post(
      '/api/v1/jobs',
      `{"task_name":"t","config":{"queue":"${queue}"},"payload":${payload},"metadata":${payload}}`,
    );
    const { text } = await a.get(`/api/v1/jobs/${(await rerun(made.body.job_id)).body.job_id}`);
    expect(text).toContain(`"payload":${payload},`);
    expect(text).toContain(`"metadata":${payload.slice(0, -1)},"rerun_of":"${made.body.job_id}"}`);
  });

  it('of a step is a plain job outside its workflow, with the context that the step received', async () => {
    const queue = newQueue();
    const workflows = workflowsOf(a);
    const id = await workflows.create({
      name: 'w',
      context: { x: 1 },
      steps: [{ name: 's', task_name: 't', queue, payload: { p: 1 } }],
    });
    const jobId = await workflows.jobId(id, 's');
    const copy = await getJob(a, (await rerun(jobId)).body.job_id);
    expect(copy).toMatchObject({ queue_name: queue, payload: { p: 1, _context: { x: 1 } }, workflow_id: null });
    await cancel(a, jobId);
    await complete(worker, await leaseOne(worker, queue), { late: true });
    expect((await workflows.get(id)).context).toEqual({ x: 1 });
  });

  it("is for one's own jobs", async () => {
    const id = await createJob(a, newQueue());
    expect((await rerun(id, b)).status).toBe(403);
    expect((await rerun(id, nobody)).status).toBe(401);
    expect((await rerun(crypto.randomUUID())).status).toBe(404);
    expect((await rerun('no-id')).status).toBe(404);
  });
});

describe('a delay', () => {
  const instants = async (id: string): Promise<number> => {
    const job = await getJob(a, id);
    return Date.parse(job.scheduled_at) - Date.parse(job.created_at);
  };

  it('counts from the creation by the clock of the database', async () => {
    const queue = newQueue();
    expect(await instants(await createJob(a, queue, { delay_secs: 3600 }))).toBe(3_600_000);
    expect(await instants(await createJob(a, queue, { delay_secs: 31_536_000 }))).toBe(31_536_000_000);
    expect(await lease(worker, queue, { max_jobs: 10 })).toEqual([]);
    const now = await createJob(a, queue, { delay_secs: 0 });
    expect(await instants(now)).toBe(0);
    expect((await lease(worker, queue, { max_jobs: 10 })).map(({ job }) => job.id)).toEqual([now]);
  });

  it('ends at its instant, for a call that waits', async () => {
    await inTime(LONGEST_WAIT_SECS, async () => {
      const queue = newQueue();
      const id = await createJob(a, queue, { delay_secs: 1 });
      const [leased] = await lease(worker, queue, { wait_secs: LONGEST_WAIT_SECS });
      expect(leased?.job.id).toBe(id);
      expect(Date.parse(leased!.job.started_at!)).toBeGreaterThanOrEqual(Date.parse(leased!.job.scheduled_at));
    });
  });

  it('goes with each job of a batch, and with an idempotency key', async () => {
    const jobs = [{ delay_secs: 60 }, {}, { run_at: '2099-01-01T00:00:00Z' }, { delay_secs: 5, metadata: { m: 1 } }];
    const config = { queue: newQueue() };
    const body = { jobs: jobs.map((fields) => ({ task_name: 't', config, ...fields })) };
    const { body: made } = await a.post('/api/v1/jobs/batch', body);
    const ids = made.job_ids as string[];
    expect(await Promise.all([ids[0]!, ids[1]!, ids[3]!].map(instants))).toEqual([60_000, 0, 5_000]);
    expect((await getJob(a, ids[2]!)).scheduled_at).toBe('2099-01-01T00:00:00Z');
    const keyed = await a.post('/api/v1/jobs', {
      task_name: 't',
      config,
      delay_secs: 7,
      idempotency_key: config.queue,
    });
    expect(await instants(keyed.body.job_id)).toBe(7_000);
  });

  it.each([
    [{ delay_secs: 1, run_at: '2030-01-01T00:00:00Z' }, 'delay_secs'],
    [{ delay_secs: 0, run_at: '2030-01-01T00:00:00Z' }, 'delay_secs'],
    [{ delay_secs: -1 }, 'delay_secs'],
    [{ delay_secs: 31_536_001 }, 'delay_secs'],
    [{ delay_secs: 1.5 }, 'delay_secs'],
    [{ delay_secs: '1' }, 'delay_secs'],
  ])('%j is refused', async (fields, path) => {
    const reply = await a.post('/api/v1/jobs', { task_name: 't', ...fields });
    expect([reply.status, reply.body.details[0].path]).toEqual([400, path]);
    const batch = await a.post('/api/v1/jobs/batch', { jobs: [{ task_name: 't' }, { task_name: 't', ...fields }] });
    expect([batch.status, batch.body.details[0].path]).toEqual([400, `jobs[1].${path}`]);
  });

  it('of null is none', async () => {
    expect(await instants(await createJob(a, newQueue(), { delay_secs: null }))).toBe(0);
  });
});

describe('an instant', () => {
  it.each([
    ['2030-01-31T09:00:00+0000', '2030-01-31T09:00:00Z'],
    ['2030-01-31 09:00:00Z', '2030-01-31T09:00:00Z'],
    ['2030-01-31 10:00:00.5+0100', '2030-01-31T09:00:00.5Z'],
  ])('%j in a body is %s', async (run_at, scheduled_at) => {
    expect(await getJob(a, await createJob(a, newQueue(), { run_at }))).toMatchObject({ scheduled_at });
  });

  it('in a body keeps its plus', async () => {
    const reply = await a.post('/api/v1/jobs', { task_name: 't', run_at: '2030-01-31T09:00:00 0000' });
    expect([reply.status, reply.body.details[0].path]).toEqual([400, 'run_at']);
  });

  it('in a query may have lost its plus to a space', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const { created_at } = await getJob(a, id);
    const at = (hours: number): string =>
      new Date(Date.parse(created_at) + hours * 3_600_000).toISOString().slice(0, 19);
    // An hour before and after, as a clock two hours ahead shows them.
    for (const zone of ['+02:00', '+0200', '%2B0200', '%2002:00']) {
      for (const [T, hours, parameter] of [
        ['T', 1, 'created_after'],
        ['+', 3, 'created_before'],
        ['%20', 1, 'created_after'],
      ] as const) {
        const instant = `${at(hours).replace('T', T)}${zone}`;
        const { body } = await a.get(`/api/v1/jobs?queue=${queue}&${parameter}=${instant}`);
        expect([instant, body.jobs?.map((job: { id: string }) => job.id)]).toEqual([instant, [id]]);
      }
    }
  });
});
