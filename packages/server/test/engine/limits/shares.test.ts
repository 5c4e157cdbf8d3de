import { afterAll, describe, expect, it } from 'vitest';
import { createClient } from '../../support/client.js';
import { oneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A, TENANT_B, WORKER_TOKEN } from '../../support/server.js';
import { until } from '../../support/until.js';
import { violationsIn } from '../../support/violations.js';
import { startAnotherServer } from '../another-server.js';
import { cancel, complete, createJob, createJobs, fail, lease, leaseOne, newQueue, type Leased } from '../kit.js';
import { leaseNext, leaseSome } from '../waiting.js';

/** Queues whose tenants take turns, in two processes on one database. */
// Settings of queues hold for each database by itself (docs/scaling.md).
const database = await oneDatabase();
const server = await startTestServer({ database, config: { mode: 'api' } });
const other = await startAnotherServer(database, { mode: 'api' });
const { a, b, worker, admin } = server;
const worker2 = createClient(other.apiUrl!, WORKER_TOKEN);
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});

const share = async (queue: string, to: 'tenant' | null, more: object = {}): Promise<void> => {
  const reply = await admin.send('PUT', `/api/v1/admin/queues/${queue}`, { body: { share: to, ...more } });
  expect(reply.status, reply.text).toBe(200);
};
const inLine = async (queue: string): Promise<number> => {
  const [row] = await database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM millrace.ready WHERE queue = $1 AND waits_for = millrace.share_line(queue, tenant)`,
    [queue],
  );
  return row!.n;
};
const sorted = (queue: string, count: number): Promise<unknown> =>
  until(async () => (await inLine(queue)) === count || `${await inLine(queue)} are in line`, { what: 'jobs in line' });
const tenants = (leased: readonly Leased[]): string =>
  leased.map(({ job }) => (job.tenant_id === TENANT_A ? 'a' : 'b')).join('');
const why = async (id: string): Promise<any> => (await a.get(`/api/v1/jobs/${id}/why`)).body;
const sound = async (): Promise<void> => expect(await violationsIn(database)).toEqual([]);

describe('tenants that take turns', () => {
  it('get one job each, however much one of them has waiting', async () => {
    const queue = newQueue();
    await share(queue, 'tenant');
    await createJobs(a, queue, 50);
    await createJobs(b, queue, 3);
    await sorted(queue, 53);
    const first = tenants(await lease(worker, queue, { max_jobs: 4 }));
    expect([...first].sort().join('')).toBe('aabb');
    const taken: string[] = [];
    for (let n = 0; n < 4; n++) taken.push(tenants([await leaseOne(n % 2 ? worker : worker2, queue)]));
    expect(taken.filter((tenant) => tenant === 'b')).toHaveLength(1);
    // The other one is alone now, and gets everything.
    expect(tenants(await lease(worker, queue, { max_jobs: 10 }))).toBe('a'.repeat(10));
    await sound();
  });

  it('let a newcomer in at its first turn, one claim after the other, through any process', async () => {
    const queue = newQueue();
    await share(queue, 'tenant');
    await createJobs(a, queue, 40);
    await sorted(queue, 40);
    await lease(worker, queue, { max_jobs: 5 });
    await createJobs(b, queue, 2);
    await sorted(queue, 37);
    const next: Leased[] = [];
    for (let n = 0; n < 4; n++) next.push(await leaseOne(n % 2 ? worker2 : worker, queue));
    expect(tenants(next).replaceAll('a', '')).toBe('bb');
    expect(tenants(next)).not.toContain('bb');
  });

  it('keep priorities and instants within a tenant; between tenants they do not count', async () => {
    const queue = newQueue();
    await share(queue, 'tenant');
    const low = await createJob(a, queue);
    const later = await createJob(a, queue, { config: { priority: 3 } });
    const high = await createJob(a, queue, { config: { priority: 9 } });
    await createJobs(b, queue, 3);
    await sorted(queue, 6);
    const order = await lease(worker, queue, { max_jobs: 6 });
    expect(order.filter(({ job }) => job.tenant_id === TENANT_A).map(({ job }) => job.id)).toEqual([high, later, low]);
    const again = newQueue();
    await share(again, 'tenant');
    await createJobs(a, again, 10, { priority: 9 });
    await createJobs(b, again, 1, { priority: -9 });
    await sorted(again, 11);
    expect(tenants(await lease(worker, again, { max_jobs: 2 }))).toContain('b');
  });

  it('serve what was there before, and what is in no line yet', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, 12);
    await share(queue, 'tenant');
    const others = await createJobs(b, queue, 3);
    // How soon jobs are in line is not promised. Each is served in any case, and those of a tenant in order.
    const found: Leased[] = [];
    for (let n = 0; n < 15; n++) found.push(await leaseNext(worker, queue));
    const of = (tenant: string): string[] =>
      found
        .map(({ job }) => job)
        .filter((job) => job.tenant_id === tenant)
        .map(({ id }) => id);
    expect([of(TENANT_A), of(TENANT_B)]).toEqual([ids, others]);
    await sound();
  });

  it('come back in line after a retry, and leave it when they are cancelled', async () => {
    const queue = newQueue();
    await share(queue, 'tenant');
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0, jitter_factor: 0 } });
    const gone = await createJob(a, queue);
    await sorted(queue, 2);
    await fail(worker, await leaseOne(worker, queue));
    await sorted(queue, 2);
    await cancel(a, gone);
    expect(await inLine(queue)).toBe(1);
    expect((await leaseOne(worker2, queue)).job).toMatchObject({ id, delivery_count: 2 });
    await sound();
  });

  it('are told that they wait for their turn, and how many of theirs are before', async () => {
    const queue = newQueue();
    await share(queue, 'tenant');
    await lease(worker, queue);
    const ids = await createJobs(a, queue, 3);
    await createJobs(b, queue, 5);
    await sorted(queue, 8);
    const order = [];
    for (const id of ids) order.push(await why(id));
    order.sort((one, two) => one.ahead - two.ahead);
    expect(order).toMatchObject([0, 1, 2].map((ahead) => ({ reason: 'waiting_for_its_turn', ahead })));
    expect(order[0].message).toBe(`Tenants take turns on the queue "${queue}"; it is the next of its tenant.`);
    expect(order[2].message).toContain('2 of its tenant before it');
  });

  it('get nothing while the queue is paused, and go on when it is resumed', async () => {
    const queue = newQueue();
    await share(queue, 'tenant');
    await createJobs(a, queue, 2);
    await createJobs(b, queue, 2);
    await sorted(queue, 4);
    // Both processes know by now that tenants take turns there.
    for (const each of [worker, worker2]) await leaseOne(each, queue);
    expect((await admin.post(`/api/v1/admin/queues/${queue}/pause`)).status).toBe(204);
    for (const each of [worker, worker2]) expect(await lease(each, queue, { max_jobs: 10 })).toEqual([]);
    expect((await admin.post(`/api/v1/admin/queues/${queue}/resume`)).status).toBe(204);
    expect([...tenants(await leaseSome(worker2, queue, { max_jobs: 10 }))].sort().join('')).toBe('ab');
  });

  it('are held to a limit from the moment it is set, by a process that has known the queue without one', async () => {
    const queue = newQueue();
    await share(queue, 'tenant');
    await createJobs(a, queue, 5);
    await createJobs(b, queue, 5);
    await sorted(queue, 10);
    await leaseOne(worker2, queue);
    await share(queue, 'tenant', { running: 3 });
    expect(await lease(worker2, queue, { max_jobs: 10 })).toHaveLength(2);
    expect(await lease(worker2, queue, { max_jobs: 10 })).toEqual([]);
    await share(queue, 'tenant', { running: null });
    expect(await leaseSome(worker2, queue, { max_jobs: 10 })).toHaveLength(7);
  });

  it('are not given a job that has expired in its line', async () => {
    const queue = newQueue();
    await share(queue, 'tenant');
    const gone = await createJob(a, queue, { config: { expires_secs: 3600 } });
    const id = await createJob(a, queue);
    await sorted(queue, 2);
    await database.query(`UPDATE millrace.ready SET expires_at = now() - interval '1 second' WHERE id = $1`, [gone]);
    expect((await lease(worker, queue, { max_jobs: 10 })).map(({ job }) => job.id)).toEqual([id]);
  });

  it('take turns within the limits of the queue, and jobs without room at their key wait for that first', async () => {
    const queue = newQueue();
    await share(queue, 'tenant', { running: 2 });
    const limits = [{ key: 'k', running: 1 }];
    const limited = await createJobs(a, queue, 3, { limits });
    await createJobs(b, queue, 3);
    await sorted(queue, 4);
    const two = await lease(worker, queue, { max_jobs: 10 });
    expect([...tenants(two)].sort().join('')).toBe('ab');
    expect(await lease(worker2, queue, { max_jobs: 10 })).toEqual([]);
    const holder = two.find(({ job }) => job.tenant_id === TENANT_A)!;
    const waits = limited.filter((id) => id !== holder.job.id);
    for (const id of waits) expect(await why(id)).toMatchObject({ reason: 'limited', limit: { key: 'k' } });
    await sound();
    await complete(worker, holder);
    await sorted(queue, 3);
    await sound();
    for (const each of two) if (each !== holder) await complete(worker, each);
    expect([...tenants(await leaseSome(worker, queue, { max_jobs: 10 }))].sort().join('')).toBe('ab');
  });

  it('do so no more once the setting is taken away: the lines are dissolved, and nothing stays behind', async () => {
    const queue = newQueue();
    await share(queue, 'tenant');
    const ids = await createJobs(a, queue, 6);
    await createJobs(b, queue, 2);
    await sorted(queue, 8);
    await share(queue, null);
    expect((await admin.get(`/api/v1/admin/queues/${queue}`)).body.share).toBeNull();
    await sorted(queue, 0);
    const found = await lease(worker2, queue, { max_jobs: 6 });
    expect(found.map(({ job }) => job.id)).toEqual(ids);
    await createJobs(b, queue, 2);
    expect(tenants(await lease(worker, queue, { max_jobs: 10 }))).toBe('bbbb');
    // Kept for a minute, for processes that have not heard of it.
    await database.query(`UPDATE millrace.queue_limits SET set_at = now() - interval '2 minutes' WHERE queue = $1`, [
      queue,
    ]);
    const rows = () => database.query('SELECT FROM millrace.queue_limits WHERE queue = $1', [queue]);
    await until(async () => (await rows()).length === 0, { what: 'the row to go' });
  });

  it('leave no trace where other settings stay: jobs are in no line again, and claims count as without turns', async () => {
    const queue = newQueue();
    await share(queue, 'tenant', { running: 5 });
    await createJobs(a, queue, 3);
    await sorted(queue, 3);
    await share(queue, null);
    await database.query(`UPDATE millrace.queue_limits SET set_at = now() - interval '2 minutes' WHERE queue = $1`, [
      queue,
    ]);
    const row = async () => (await database.query('SELECT * FROM millrace.queue_limits WHERE queue = $1', [queue]))[0];
    await until(async () => (await row())?.share === null, { what: 'turns to be forgotten' });
    expect(await row()).toMatchObject({ running: 5, share: null, shared_since: null, turn: null });
    expect((await admin.get(`/api/v1/admin/queues/${queue}`)).body).toMatchObject({ running: 5, share: null });
    await createJobs(b, queue, 3);
    expect(tenants(await lease(worker, queue, { max_jobs: 10 }))).toBe('aaabb');
    expect(await inLine(queue)).toBe(0);
    await share(queue, 'tenant');
    await sorted(queue, 1);
    await sound();
  });
});
