import { describe, expect, it } from 'vitest';
import type { Client } from '../../support/client.js';
import { startTestServer, useTestServer } from '../../support/server.js';
import { complete, createJob, deadLettersOf, fail, getJob, lease, leaseOne, newQueue, stats } from '../kit.js';

describe('tenants', async () => {
  const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });

  const NOWHERE = '0198c7f0-0000-7000-8000-000000000000';
  const calls = (client: Client, id: string) =>
    [
      ['GET', `/api/v1/jobs/${id}`],
      ['POST', `/api/v1/jobs/${id}/cancel`],
      ['GET', `/api/v1/jobs/${id}/events`],
    ].map(([method, path]) => client.send(method!, path!));

  it("another tenant's job is forbidden, in every state", async () => {
    const queue = newQueue();
    const waiting = await createJob(b, newQueue());
    await createJob(b, queue);
    await createJob(b, queue);
    const [running, done] = await lease(worker, queue, { max_jobs: 2 });
    await complete(worker, done!);
    for (const id of [waiting, running!.job.id, done!.job.id]) {
      for (const reply of await Promise.all(calls(a, id))) {
        expect(reply.status).toBe(403);
        expect(reply.body.code).toBe('forbidden');
        expect(reply.text).not.toContain('tenant-b');
      }
    }
    expect((await getJob(b, waiting)).status).toBe('pending');
    expect((await getJob(b, running!.job.id)).status).toBe('running');
  });

  it.each([
    NOWHERE,
    NOWHERE.toUpperCase(),
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '00000000-0000-0000-0000-000000000000',
  ])('an unknown id is not found: %s', async (id) => {
    for (const reply of await Promise.all(calls(a, id))) expect(reply.status).toBe(404);
  });

  it.each(['1', 'x', "'", '%27%3B--', '%00', '{}', `${NOWHERE}0`, NOWHERE.replaceAll('-', ''), `%7B${NOWHERE}%7D`])(
    'a malformed id is not found: %s',
    async (id) => {
      for (const reply of await Promise.all(calls(a, id))) {
        expect(reply.status).toBe(404);
        expect(reply.body.code).toBe('not_found');
      }
    },
  );

  it('an id may be in upper case', async () => {
    const id = await createJob(a, newQueue());
    expect((await getJob(a, id.toUpperCase())).id).toBe(id);
  });

  it("another tenant's dead letter is forbidden, and cannot be replayed", async () => {
    const queue = newQueue();
    const job = await createJob(b, queue);
    await fail(worker, await leaseOne(worker, queue), { retryable: false });
    const [letter] = await deadLettersOf(b, job);
    expect((await a.get(`/api/v1/dlq/${letter!.id}`)).status).toBe(403);
    expect((await a.post(`/api/v1/dlq/${letter!.id}/replay`)).status).toBe(403);
    expect((await b.get(`/api/v1/dlq/${letter!.id}`)).body.replayed_at).toBeNull();
    expect(await deadLettersOf(a, job)).toEqual([]);
  });

  it.each(['x', '1.5', '-1', '99999999', '9223372036854775807', '9223372036854775808', '1e3', NOWHERE])(
    'there is no dead letter %s',
    async (id) => {
      expect((await a.get(`/api/v1/dlq/${id}`)).status).toBe(404);
      expect((await a.post(`/api/v1/dlq/${id}/replay`)).status).toBe(404);
    },
  );

  it("lists, totals and queues show only a tenant's own work", async () => {
    const queue = newQueue();
    const [ours, theirs] = [await createJob(a, queue), await createJob(b, queue)];
    for (const [client, mine] of [
      [a, ours],
      [b, theirs],
    ] as const) {
      const { body } = await client.get(`/api/v1/jobs?queue=${queue}&include_total=true`);
      expect(body.jobs.map((job: { id: string }) => job.id)).toEqual([mine]);
      expect(body.total).toBe(1);
      const { queues } = (await client.get('/api/v1/queues')).body;
      expect(queues.find((depth: { queue: string }) => depth.queue === queue)).toMatchObject({ pending: 1 });
    }
  });

  it('workers see the jobs of every tenant on a queue', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    await createJob(b, queue);
    const leased = await lease(worker, queue, { max_jobs: 10 });
    expect(leased.map(({ job }) => job.tenant_id)).toEqual(['tenant-a', 'tenant-b']);
  });

  it('all tenants see the same tasks, but each sees its own statistics', async () => {
    expect((await a.get('/api/v1/tasks')).body).toEqual({ tasks: ['echo', 'fail', 'log', 'sleep'] });
    expect((await b.get('/api/v1/tasks')).body).toEqual({ tasks: ['echo', 'fail', 'log', 'sleep'] });
    const [ours, theirs] = [await stats(a), await stats(b)];
    await createJob(a, newQueue());
    expect(await stats(a)).toEqual({ ...ours, jobs_created: ours.jobs_created! + 1 });
    expect(await stats(b)).toEqual(theirs);
  });

  it('statistics start again with the process', async () => {
    const server = await startTestServer({ config: { mode: 'api' } });
    const { database } = server;
    await createJob(server.a, newQueue());
    expect((await stats(server.a)).jobs_created).toBe(1);
    const again = await startTestServer({ database, config: { mode: 'api' } });
    expect(Object.values(await stats(again.a))).toEqual(Array(9).fill(0));
    await again.stop();
    await server.stop();
  });
});
