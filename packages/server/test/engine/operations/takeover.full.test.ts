import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../../support/database.js';
import { lockWaits } from '../../support/lock-waits.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import { blockLeaseOf } from '../blocking.js';
import { complete, createJob, createJobs, lease, leaseOne, listAll, newQueue } from '../kit.js';
import { begin, bury, ended, getOperation, perform } from './operation-kit.js';

const config = { mode: 'api' as const };

describe('operations of several processes', async () => {
  const database = await cloneDatabase();
  const server = await startTestServer({ database, config });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const orphan = (id: string): Promise<unknown> =>
    database.query(
      `UPDATE millrace.operations SET holder = $2, lease_until = now() - interval '1 second' WHERE id = $1`,
      [id, randomUUID()],
    );

  it('go on where they were when their process is gone, with nothing done or counted twice', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 1_700);
    const id = await begin(a, { action: 'cancel_jobs', filter: { queue } });
    await until(async () => (await getOperation(a, id)).done >= 500 || 'no batch is done');
    // It belongs to a process that has died since; the one that began it notices, and leaves it alone.
    await orphan(id);
    const after = await createJobs(a, queue, 3);
    const heir = await startAnotherServer(database, { mode: 'worker' });
    const operation = await ended(a, id);
    await heir.stop();
    expect(operation).toMatchObject({ matched: { n: 1_700, exact: true }, done: 1_700, changed: 1_700, skipped: 0 });
    expect((await listAll(a, `queue=${queue}&status=pending`)).map((job) => job.id).sort()).toEqual(after);
  });

  it('are left alone by a process that no longer holds them', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 700);
    const locked = await createJob(a, queue, { config: { priority: 9 } });
    await createJobs(a, queue, 900);
    expect((await leaseOne(worker, queue, { lease_secs: 600 })).job.id).toBe(locked);
    // The second batch of four waits for this lease, and whoever takes the operation for the batch.
    const block = await blockLeaseOf(database, locked);
    const id = await begin(a, { action: 'cancel_jobs', filter: { queue } });
    await block.held();
    const taking = database.query<{ done: string }>(
      `UPDATE millrace.operations SET holder = $2, lease_until = 'infinity' WHERE id = $1 RETURNING done`,
      [id, randomUUID()],
    );
    await lockWaits(database, { by: 'test kit' });
    await block.release();
    const [taken] = await taking;
    // Operations take turns: by the end of the second one, this one has had a turn.
    for (let n = 0; n < 2; n++) await perform(a, { action: 'cancel_jobs', filter: { queue: newQueue() } });
    expect(await getOperation(a, id)).toMatchObject({ status: 'running', done: Number(taken!.done) });
    expect(taken!.done).toBe('1000');
    expect((await a.post(`/api/v1/operations/${id}/stop`)).status).toBe(204);
  });

  it('are left to others by a process that stops', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 1_700);
    const second = await startTestServer({ database, config });
    const id = await begin(second.a, { action: 'cancel_jobs', filter: { queue } });
    await until(async () => (await getOperation(a, id)).done >= 500 || 'no batch is done');
    await second.stop().catch(() => undefined);
    const [row] = await database.query('SELECT status, holder, lease_until FROM millrace.operations WHERE id = $1', [
      id,
    ]);
    // Unless it had just ended.
    if (row!.status === 'running') expect(row).toMatchObject({ holder: null, lease_until: null });
    expect(await ended(a, id)).toMatchObject({ done: 1_700, changed: 1_700, skipped: 0 });
  });

  it('count a job that ended before they came to it as skipped', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 3);
    const leased = await lease(worker, queue, { max_jobs: 1 });
    const first = await begin(a, { action: 'cancel_jobs', filter: { queue, status: 'pending' } });
    expect(await ended(a, first)).toMatchObject({ matched: { n: 2, exact: true }, changed: 2 });
    // Counted as three, of which one ends before the first batch.
    const id = randomUUID();
    await complete(worker, leased[0]!);
    await database.query(
      `INSERT INTO millrace.operations (created_at, before, matched, slot, action, status, exact, id, tenant, filter,
                                        scope)
       SELECT now(), now(), 3, 5, action, 'running', true, $1, tenant, filter, scope
       FROM millrace.operations WHERE id = $2`,
      [id, first],
    );
    expect(await ended(a, id)).toMatchObject({
      matched: { n: 3, exact: true },
      done: 3,
      changed: 0,
      skipped: 3,
    });
  });

  it('are removed after the retention window, or after thirty days without one', async () => {
    const queue = newQueue();
    const [letter] = await bury(a, worker, queue, 1);
    const old = await perform(a, { action: 'replay_dead_letters', ids: [String(letter!.id)] });
    const young = await perform(a, { action: 'cancel_jobs', filter: { queue } });
    const pass = async (retentionHours: number | null): Promise<void> => {
      await database.query(`DELETE FROM millrace.loops WHERE name = 'operations'`);
      const sweeper = await startAnotherServer(database, { ...config, retentionHours });
      await until(async () => {
        const rows = await database.query(`SELECT FROM millrace.loops WHERE name = 'operations'`);
        return rows.length === 1;
      });
      await sweeper.stop();
    };
    const age = (id: string, interval: string): Promise<unknown> =>
      database.query('UPDATE millrace.operations SET completed_at = now() - $2::interval WHERE id = $1', [
        id,
        interval,
      ]);
    await age(old.id, '29 days');
    await pass(null);
    expect((await a.get(`/api/v1/operations/${old.id}`)).status).toBe(200);
    await age(old.id, '31 days');
    await pass(null);
    expect((await a.get(`/api/v1/operations/${old.id}`)).status).toBe(404);
    expect(await database.query('SELECT FROM millrace.operation_jobs WHERE operation_id = $1', [old.id])).toEqual([]);
    await age(young.id, '30 minutes');
    await pass(1);
    expect((await a.get(`/api/v1/operations/${young.id}`)).status).toBe(200);
    await age(young.id, '61 minutes');
    await pass(1);
    expect((await a.get(`/api/v1/operations/${young.id}`)).status).toBe(404);
  });
});
