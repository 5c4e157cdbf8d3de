import { randomUUID } from 'node:crypto';
import type { Operation } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import type { Reply } from '../../support/client.js';
import { useTestServer } from '../../support/server.js';
import { blockLeaseOf } from '../blocking.js';
import { createJob, createJobs, getJob, idsOf, lease, leaseOne, newQueue } from '../kit.js';
import { begin, bury, ended, getOperation, perform, post } from './operation-kit.js';

describe('operations', async () => {
  const { a, b, nobody, worker, database } = await useTestServer({ config: { mode: 'api' } });

  /** Operations that nobody works on, as if their processes were busy. */
  const blockedOperations = async (tenant: string, count: number): Promise<void> => {
    await database.query(
      `INSERT INTO millrace.operations (created_at, before, lease_until, matched, slot, action, status, exact, id,
                                        tenant, filter, scope)
       SELECT now(), now(), 'infinity', 1, slot, 'cancel_jobs', 'running', true, gen_random_uuid(), $1, '{}', '{}'
       FROM generate_series(1, $2::int) AS slot`,
      [tenant, count],
    );
  };

  it.each([
    ['no action', { filter: { queue: 'q' } }, 'action'],
    ['an unknown action', { action: 'delete_jobs', filter: { queue: 'q' } }, 'action'],
    ['neither filter nor ids', { action: 'cancel_jobs' }, 'filter'],
    ['both', { action: 'cancel_jobs', filter: { queue: 'q' }, ids: [randomUUID()] }, 'ids'],
    ['an empty filter', { action: 'cancel_jobs', filter: {} }, 'filter'],
    ['no ids', { action: 'cancel_jobs', ids: [] }, 'ids'],
    ['too many ids', { action: 'cancel_jobs', ids: Array.from({ length: 1_001 }, () => randomUUID()) }, 'ids'],
    ['an id that is none', { action: 'cancel_jobs', ids: [randomUUID(), '17'] }, 'ids[1]'],
    ['a job for a dead letter', { action: 'replay_dead_letters', ids: [randomUUID()] }, 'ids[0]'],
    ['a misspelt filter', { action: 'cancel_jobs', filter: { status: 'pending', qeue: 'q' } }, 'filter.qeue'],
    ['a filter of dead letters', { action: 'cancel_jobs', filter: { queue_name: 'q' } }, 'filter.queue_name'],
    ['a filter of jobs', { action: 'replay_dead_letters', filter: { queue: 'q' } }, 'filter.queue'],
    ['an unknown state', { action: 'cancel_jobs', filter: { status: 'lost' } }, 'filter.status'],
    ['an unknown reason', { action: 'replay_dead_letters', filter: { reason: 'bad luck' } }, 'filter.reason'],
    ['a word for a truth', { action: 'replay_dead_letters', filter: { replayed: 'no' } }, 'filter.replayed'],
    ['no instant', { action: 'cancel_jobs', filter: { created_after: 'now' } }, 'filter.created_after'],
    ['a name too long to exist', { action: 'cancel_jobs', filter: { queue: 'q'.repeat(256) } }, 'filter.queue'],
    ['text that cannot be stored', { action: 'cancel_jobs', filter: { queue: 'q\0' } }, 'filter.queue'],
    ['a misspelt dry_run', { action: 'cancel_jobs', filter: { queue: 'q' }, dryRun: true }, 'dryRun'],
    ['no truth for dry_run', { action: 'cancel_jobs', filter: { queue: 'q' }, dry_run: 'yes' }, 'dry_run'],
  ])('refuse %s', async (_, body, path) => {
    const reply = await post(a, body);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    expect(reply.body.details[0].path).toBe(path);
  });

  it('need a credential, and are for tenants', async () => {
    const body = { action: 'cancel_jobs', filter: { queue: 'q' } };
    expect((await post(nobody, body)).status).toBe(401);
    expect((await post(worker, body)).status).toBe(401);
    expect((await worker.get('/api/v1/operations')).status).toBe(401);
  });

  it('tell with a dry run what they would do, and do nothing', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, 12);
    const dry = await post(a, { action: 'cancel_jobs', filter: { queue }, dry_run: true });
    expect(dry.status).toBe(200);
    expect(dry.body.matched).toEqual({ n: 12, exact: true });
    const first = await getJob(a, ids[0]!);
    expect(dry.body.sample).toHaveLength(10);
    expect(dry.body.sample[0]).toEqual({
      id: ids[0],
      task_name: 'task',
      queue_name: queue,
      created_at: first.created_at,
    });
    expect((dry.body.sample as { id: string }[]).map(({ id }) => id)).toEqual(ids.slice(0, 10));
    const foreign = await post(b, { action: 'cancel_jobs', filter: { queue }, dry_run: true });
    expect(foreign.body).toEqual({ matched: { n: 0, exact: true }, sample: [] });
    const letters = await bury(a, worker, newQueue(), 2);
    const filter = { queue_name: letters[0]!.queue_name };
    const replays = await post(a, { action: 'replay_dead_letters', filter, dry_run: true });
    expect(replays.body.matched).toEqual({ n: 2, exact: true });
    expect(replays.body.sample[0]).toEqual({
      id: String(letters[0]!.id),
      task_name: 'task',
      queue_name: letters[0]!.queue_name,
      created_at: letters[0]!.created_at,
    });
    expect(await getJob(a, ids[0]!)).toEqual(first);
    expect((await a.get(`/api/v1/dlq/${letters[0]!.id}`)).body.replayed_at).toBeNull();
    const [row] = await database.query<{ n: number }>('SELECT count(*)::int AS n FROM millrace.operations');
    expect(row).toEqual({ n: 0 });
  });

  it('happen once for an idempotency key', async () => {
    const queue = newQueue();
    const key = { 'idempotency-key': randomUUID() };
    const body = { action: 'cancel_jobs', filter: { queue } };
    const send = (): Promise<Reply> => a.post('/api/v1/operations', body, key);
    const replies = await Promise.all([send(), send(), send()]);
    expect(replies.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(replies.map((reply) => reply.text)).size).toBe(1);
    expect(replies.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(2);
    expect(replies[0].headers.get('location')).toBe(`/api/v1/operations/${replies[0].body.operation_id}`);
    await ended(a, replies[0].body.operation_id as string);
    const late = await createJob(a, queue);
    expect((await send()).text).toBe(replies[0].text);
    expect((await getJob(a, late)).status).toBe('pending');
    expect((await a.post('/api/v1/jobs', { task_name: 'task' }, key)).body.code).toBe('conflict');
    expect((await b.post('/api/v1/operations', body, key)).headers.get('idempotency-replayed')).toBeNull();
  });

  it('are listed newest first, page by page, each tenant its own', async () => {
    const queue = newQueue();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await perform(a, { action: 'cancel_jobs', filter: { queue } })).id);
    const foreign = await perform(b, { action: 'cancel_jobs', filter: { queue } });
    const { body: first, headers } = await a.get('/api/v1/operations?limit=3');
    expect((first.operations as Operation[]).map(({ id }) => id)).toEqual(ids.slice(0, 3));
    expect(first).toMatchObject({ has_more: true, next_cursor: expect.any(String) });
    const { body: second } = await a.get(`/api/v1/operations?limit=3&cursor=${first.next_cursor}`);
    expect((second.operations as Operation[]).slice(0, 2).map(({ id }) => id)).toEqual(ids.slice(3));
    expect(second.operations[0]).toEqual(await getOperation(a, ids[3]!));
    expect((await a.get('/api/v1/operations?cursor=nonsense')).status).toBe(400);
    const all = (await b.get('/api/v1/operations')).body;
    expect(all.operations[0]).toEqual(foreign);
    expect((all.operations as Operation[]).filter(({ id }) => ids.includes(id))).toEqual([]);
    expect(all).toMatchObject({ has_more: false });
    const etag = { 'if-none-match': headers.get('etag')! };
    expect((await a.get('/api/v1/operations?limit=3', etag)).status).toBe(304);
  });

  it('belong to their tenant', async () => {
    const { id } = await perform(a, { action: 'cancel_jobs', filter: { queue: newQueue() } });
    const one = await a.get(`/api/v1/operations/${id}`);
    const etag = { 'if-none-match': one.headers.get('etag')! };
    expect((await a.get(`/api/v1/operations/${id}`, etag)).status).toBe(304);
    expect((await b.get(`/api/v1/operations/${id}`)).status).toBe(403);
    expect((await b.post(`/api/v1/operations/${id}/stop`)).status).toBe(403);
    for (const unknown of [randomUUID(), 'nonsense']) {
      expect((await a.get(`/api/v1/operations/${unknown}`)).status).toBe(404);
      expect((await a.post(`/api/v1/operations/${unknown}/stop`)).status).toBe(404);
    }
  });

  it('can be stopped: what was done stays, the rest is left alone', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 700);
    const locked = await createJob(a, queue, { config: { priority: 9 } });
    const rest = await createJobs(a, queue, 400);
    expect((await leaseOne(worker, queue, { lease_secs: 600 })).job.id).toBe(locked);
    // The second batch of three waits for this lease, and the stop for the batch.
    const block = await blockLeaseOf(database, locked);
    const id = await begin(a, { action: 'cancel_jobs', filter: { queue } });
    await block.held();
    expect(await getOperation(a, id)).toMatchObject({ status: 'running', done: 500, completed_at: null });
    const stopping = a.post(`/api/v1/operations/${id}/stop`);
    await block.held(2);
    await block.release();
    expect((await stopping).status).toBe(204);
    expect(await getOperation(a, id)).toMatchObject({
      status: 'stopped',
      matched: { n: 1_101, exact: true },
      done: 1_000,
      changed: 1_000,
      skipped: 0,
      completed_at: expect.any(String),
    });
    expect((await getJob(a, rest.at(-1)!)).status).toBe('pending');
    const again = await a.post(`/api/v1/operations/${id}/stop`);
    expect([again.status, again.body.code]).toEqual([409, 'already_finished']);
  });

  it('take turns: a small one does not wait for a large one', async () => {
    const [queue, small] = [newQueue(), newQueue()];
    const first = await createJob(a, queue, { config: { priority: 9 } });
    await createJobs(a, queue, 1_500);
    const last = await createJob(a, queue, { config: { priority: 9 } });
    await createJob(b, small);
    expect(idsOf(await lease(worker, queue, { max_jobs: 2, lease_secs: 600 }))).toEqual([first, last]);
    // The first batch of four waits until the small one has been asked for, the last one until that has ended.
    const [start, end] = [await blockLeaseOf(database, first), await blockLeaseOf(database, last)];
    const large = await begin(a, { action: 'cancel_jobs', filter: { queue } });
    await start.held();
    const quick = await begin(b, { action: 'cancel_jobs', filter: { queue: small } });
    await start.release();
    expect(await ended(b, quick)).toMatchObject({ status: 'completed', changed: 1 });
    expect((await getOperation(a, large)).status).toBe('running');
    await end.release();
    expect(await ended(a, large)).toMatchObject({ changed: 1_502 });
  });

  it('run five at a time for each tenant, however many are asked for at once', async () => {
    const queue = newQueue();
    await blockedOperations('tenant-a', 3);
    const body = { action: 'cancel_jobs', filter: { queue } };
    const job = await createJob(a, queue);
    await leaseOne(worker, queue, { lease_secs: 600 });
    const block = await blockLeaseOf(database, job);
    const replies = await Promise.all(Array.from({ length: 8 }, () => post(a, body)));
    const statuses = replies.map(({ status }) => status).sort();
    expect(statuses).toEqual([202, 202, 409, 409, 409, 409, 409, 409]);
    expect(replies.find(({ status }) => status === 409)!.body.code).toBe('conflict');
    expect((await post(b, body)).status).toBe(202);
    expect((await post(a, { ...body, dry_run: true })).status).toBe(200);
    await block.release();
    for (const { body: created } of replies.filter(({ status }) => status === 202))
      await ended(a, created.operation_id as string);
    expect((await post(a, body)).status).toBe(202);
  });
});
