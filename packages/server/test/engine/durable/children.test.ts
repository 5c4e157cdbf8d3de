import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { RetentionPass } from '../../../src/engine/jobs/retention-pass.js';
import { Database } from '../../../src/store/connection/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import type { Reply } from '../../support/client.js';
import { until } from '../../support/until.js';
import {
  cancel,
  complete,
  createJob,
  expireLease,
  fail,
  getJob,
  idsOf,
  lease,
  leaseOne,
  listAll,
  newQueue,
  report,
  SWEEP_OFTEN,
  waitFor,
  type Leased,
} from '../kit.js';
import { leaseNext, leaseSome } from '../waiting.js';
import { checkpointsOf, store, suspend } from './kit.js';

const HOUR = 3_600;

describe('children', async () => {
  const database = await cloneDatabase();
  const handlers = { now: () => ({ done: true }) };
  const config = { workers: 4, defaultQueue: 'pool', maxPayloadBytes: 4_096 };
  const server = await startTestServer({ database, config, handlers, intervals: SWEEP_OFTEN });
  const { a, b, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const create = (leased: Leased, jobs: object[]): Promise<Reply> => report(worker, 'children', leased, { jobs });
  const child = (queue: string, name: string, more: { config?: object } & Record<string, unknown> = {}): object => ({
    ...{ name, task_name: 'child', payload: { name } },
    ...more,
    config: { queue, ...more.config },
  });
  /** A running parent and its queues. */
  const begin = async (): Promise<{ parent: Leased; queue: string; below: string }> => {
    const [queue, below] = [newQueue(), newQueue()];
    await createJob(a, queue);
    return { parent: await leaseOne(worker, queue, { lease_secs: HOUR }), queue, below };
  };
  const made = async (leased: Leased, jobs: object[]): Promise<string[]> => {
    const reply = await create(leased, jobs);
    expect(reply.status, reply.text).toBe(201);
    return reply.body.job_ids as string[];
  };
  const awaitAll = (parent: Leased, children: string[], fields: object = {}): Promise<Reply> =>
    suspend(worker, parent, { checkpoint: 'all', delay_secs: HOUR, wait: { children }, ...fields });
  /** Waits for the parent to be due again, and leases it. */
  const again = (queue: string): Promise<Leased> => leaseNext(worker, queue);
  const ends = async (id: string, name = 'all'): Promise<unknown> =>
    ((await checkpointsOf(a, id))[name] as { children: unknown } | undefined)?.children;

  it('are made once per parent and name, for the same tenant', async () => {
    const { parent, below } = await begin();
    const first = await made(parent, [child(below, 'one'), child(below, 'two')]);
    const second = await made(parent, [child(below, 'three'), child(below, 'one', { payload: { other: true } })]);
    expect(second[1]).toBe(first[0]);
    expect(new Set([...first, ...second]).size).toBe(3);
    const jobs = await listAll(a, `queue=${below}&order=asc`);
    expect(jobs).toHaveLength(3);
    const record = await getJob(a, first[0]!);
    expect(record).toMatchObject({ payload: { name: 'one' }, parent_job_id: parent.job.id, tenant_id: 'tenant-a' });
    expect((await b.get(`/api/v1/jobs/${first[0]}`)).status).toBe(403);
    expect(await getJob(a, parent.job.id)).not.toHaveProperty('parent_job_id');
  });

  it('are listed by their parent, in pages and with other filters', async () => {
    const { parent, below } = await begin();
    const other = newQueue();
    const ids = await made(parent, [
      ...Array.from({ length: 5 }, (_, n) => child(below, `n${n}`)),
      child(other, 'elsewhere'),
    ]);
    const listed = await listAll(a, `parent_job_id=${parent.job.id}&limit=2`);
    expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
    expect(listed.every(({ parent_job_id: id }) => id === parent.job.id)).toBe(true);
    const summaries = await listAll(a, `parent_job_id=${parent.job.id}&queue=${other}&view=summary`);
    expect(summaries).toMatchObject([{ id: ids[5], parent_job_id: parent.job.id }]);
    expect(await listAll(a, `parent_job_id=${parent.job.id}&status=completed`)).toEqual([]);
    expect(await listAll(b, `parent_job_id=${parent.job.id}`)).toEqual([]);
    expect(await listAll(a, 'parent_job_id=nonsense')).toEqual([]);
  });

  it('are refused where they cannot be', async () => {
    const { parent, queue, below } = await begin();
    const refused = async (jobs: object[], path: string): Promise<void> => {
      const reply = await create(parent, jobs);
      expect([reply.status, reply.body.details?.[0]?.path], reply.text).toEqual([400, path]);
    };
    await refused([child(below, 'x'), child(below, 'x')], 'jobs[1].name');
    await refused([child(below, '')], 'jobs[0].name');
    await refused([child(below, 'x'.repeat(251))], 'jobs[0].name');
    await refused([child(below, 'x', { config: { unique: { key: 'k', while: 'waiting' } } })], 'jobs[0].config.unique');
    await refused([child(below, 'x', { idempotency_key: 'k' })], 'jobs[0].idempotency_key');
    await refused([], 'jobs');
    await refused(
      Array.from({ length: 1_001 }, (_, n) => child(below, `${n}`)),
      'jobs',
    );
    await refused([child(below, 'x', { run_at: '2030-01-01T00:00:00Z', delay_secs: 1 })], 'jobs[0].delay_secs');
    expect((await create({ ...parent, lease_token: randomUUID() }, [child(below, 'x')])).status).toBe(409);
    const nobody = { job: { ...parent.job, id: randomUUID() }, lease_token: parent.lease_token };
    expect((await create(nobody, [child(below, 'x')])).status).toBe(404);
    expect((await a.post(`/api/v1/jobs/${parent.job.id}/children`, { jobs: [] })).status).toBe(403);
    await complete(worker, parent);
    expect((await create(parent, [child(below, 'x')])).status).toBe(409);
    expect(await lease(worker, queue)).toEqual([]);
    expect(await listAll(a, `queue=${below}`)).toEqual([]);
  });

  it('end in every way, and their parent goes on with all of it when the last has', async () => {
    const { parent, queue, below } = await begin();
    const once = { config: { max_retries: 0 } };
    const soon = { config: { expires_secs: HOUR } };
    const names = ['done', 'failed', 'dead', 'expired', 'cancelled', 'bulk', 'running', 'too late'];
    const ids = await made(
      parent,
      names.map((name) => child(name === 'too late' ? newQueue() : below, name, name === 'too late' ? soon : once)),
    );
    expect((await awaitAll(parent, names)).status).toBe(204);
    const waiting = await getJob(a, parent.job.id);
    expect(waiting.waiting_for).toMatchObject({
      checkpoint: 'all',
      signal: null,
      children: { total: 8, unfinished: 8 },
    });
    expect((await a.get(`/api/v1/jobs/${parent.job.id}/why`)).body).toMatchObject({ reason: 'waiting_for_children' });
    expect((await a.post(`/api/v1/jobs/${parent.job.id}/run-now`)).status).toBe(409);
    await cancel(a, ids[4]!);
    const bulk = await a.post('/api/v1/operations', { action: 'cancel_jobs', ids: [ids[5]] });
    expect(bulk.status, bulk.text).toBe(202);
    await waitFor(a, ids[5]!, 'cancelled');
    await database.query(`UPDATE millrace.ready SET expires_at = now() - interval '1 second' WHERE id = $1`, [ids[7]]);
    await waitFor(a, ids[7]!, 'cancelled');
    const leased = new Map((await lease(worker, below, { max_jobs: 10 })).map((each) => [each.job.id, each]));
    const held = (n: number): Leased => leased.get(ids[n]!)!;
    await complete(worker, held(0), { big: 12345678901234567890n.toString() });
    await fail(worker, held(1), { retryable: false, error: 'no' });
    await fail(worker, held(2), { error: 'spent' });
    await cancel(a, ids[6]!);
    await until(async () => {
      const { waiting_for: shown } = await getJob(a, parent.job.id);
      return shown?.children?.unfinished === 1 || `${shown?.children?.unfinished} are unfinished`;
    });
    expect(await lease(worker, queue)).toEqual([]);
    await expireLease(database, ids[3]!);
    const second = await again(queue);
    expect(second.job).toMatchObject({ id: parent.job.id, delivery_count: 2, retry_count: 0 });
    expect(await ends(parent.job.id)).toEqual([
      { name: 'done', job_id: ids[0], status: 'completed', result: { big: '12345678901234567890' } },
      { name: 'failed', job_id: ids[1], status: 'failed', error: 'no' },
      { name: 'dead', job_id: ids[2], status: 'failed', error: 'spent' },
      { name: 'expired', job_id: ids[3], status: 'failed', error: 'lease expired' },
      { name: 'cancelled', job_id: ids[4], status: 'cancelled', error: null },
      { name: 'bulk', job_id: ids[5], status: 'cancelled', error: null },
      { name: 'running', job_id: ids[6], status: 'cancelled', error: null },
      { name: 'too late', job_id: ids[7], status: 'cancelled', error: 'expired before it started' },
    ]);
    expect(await getJob(a, parent.job.id)).not.toHaveProperty('waiting_for');
  });

  it('that have ended before the wait end it at once, in the order asked for', async () => {
    const { parent, queue, below } = await begin();
    const ids = await made(parent, [child(below, 'x'), child(below, 'y')]);
    for (const each of await lease(worker, below, { max_jobs: 2 })) await complete(worker, each, { of: each.job.id });
    await awaitAll(parent, ['y', 'x']);
    await leaseOne(worker, queue);
    expect(await ends(parent.job.id)).toMatchObject([{ job_id: ids[1] }, { job_id: ids[0], result: { of: ids[0] } }]);
  });

  it('that retry are not at their end', async () => {
    const { parent, queue, below } = await begin();
    await made(parent, [child(below, 'x', { config: { max_retries: 1, retry_delay_secs: 0, jitter_factor: 0 } })]);
    await awaitAll(parent, ['x']);
    await fail(worker, await leaseOne(worker, below));
    expect(await getJob(a, parent.job.id)).toMatchObject({ waiting_for: { children: { unfinished: 1 } } });
    await complete(worker, await leaseOne(worker, below));
    await again(queue);
  });

  it('may run in the pool of the server', async () => {
    const { parent, queue } = await begin();
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
    await made(
      parent,
      names.map((name) => ({ name, task_name: 'now' })),
    );
    await awaitAll(parent, names);
    await again(queue);
    expect(await ends(parent.job.id)).toHaveLength(20);
  });

  it('may have limits, and be due later', async () => {
    const { parent, queue, below } = await begin();
    const limits = { config: { limits: [{ key: 'k', running: 1 }] } };
    await made(parent, [child(below, 'x', limits), child(below, 'y', limits), child(below, 'z', { delay_secs: 1 })]);
    await awaitAll(parent, ['x', 'y', 'z']);
    for (let n = 0; n < 3; n++) {
      for (const each of await leaseSome(worker, below, { max_jobs: 5 })) await complete(worker, each);
      if ((await listAll(a, `queue=${below}&status=completed`)).length === 3) break;
    }
    await again(queue);
  });

  it('leave out what their parent has no room for', async () => {
    const { parent, queue, below } = await begin();
    await made(parent, [child(below, 'small'), child(below, 'large'), child(below, 'late')]);
    await awaitAll(parent, ['small', 'large', 'late']);
    const leased = await lease(worker, below, { max_jobs: 3 });
    await complete(worker, leased[0]!, { text: 'x' });
    await complete(worker, leased[1]!, { text: 'x'.repeat(3_900) });
    await complete(worker, leased[2]!, { text: 'y' });
    await again(queue);
    expect(await ends(parent.job.id)).toEqual([
      { name: 'small', job_id: leased[0]!.job.id, status: 'completed', result: { text: 'x' } },
      { name: 'large', job_id: leased[1]!.job.id, status: 'completed', omitted: true },
      { name: 'late', job_id: leased[2]!.job.id, status: 'completed', omitted: true },
    ]);
  });

  it('that come too late find a parent that has gone on, and the next wait gets their ends', async () => {
    const { parent, queue, below } = await begin();
    await made(parent, [child(below, 'x'), child(below, 'y')]);
    await awaitAll(parent, ['x', 'y'], { delay_secs: 0 });
    const second = await again(queue);
    expect((await store(worker, second, 'all', { timed_out: true })).status).toBe(201);
    const [x, y] = await lease(worker, below, { max_jobs: 2 });
    await complete(worker, x!, { n: 1 });
    await awaitAll(second, ['y'], { checkpoint: 'rest' });
    expect(await lease(worker, queue)).toEqual([]);
    await complete(worker, y!, { n: 2 });
    const third = await again(queue);
    expect((await checkpointsOf(a, third.job.id)).all).toEqual({ timed_out: true });
    expect(await ends(third.job.id, 'rest')).toMatchObject([{ name: 'y', result: { n: 2 } }]);
    await awaitAll(third, ['x', 'y'], { checkpoint: 'both' });
    await again(queue);
    expect(await ends(third.job.id, 'both')).toMatchObject([{ result: { n: 1 } }, { result: { n: 2 } }]);
  });

  it('can be waited for only by their parent, and only if they are not detached', async () => {
    const { parent, queue, below } = await begin();
    const [alone] = await made(parent, [child(below, 'alone', { detached: true }), child(below, 'mine')]);
    const refused = async (wait: object, path: string): Promise<void> => {
      const reply = await suspend(worker, parent, { checkpoint: 'all', delay_secs: 9, wait });
      expect([reply.status, reply.body.details?.[0]?.path], reply.text).toEqual([400, path]);
    };
    await refused({ children: ['alone'] }, 'wait.children');
    await refused({ children: ['nobody'] }, 'wait.children');
    await refused({ children: ['mine', 'mine'] }, 'wait.children[1]');
    await refused({ children: [] }, 'wait.children');
    await refused({ children: ['mine'], signal: { name: 's' } }, 'wait');
    await refused({ children: ['mine'], ask: { text: 'x' } }, 'wait.ask');
    await refused({}, 'wait');
    const reports = [{ job_id: parent.job.id, lease_token: parent.lease_token, outcome: 'suspended' }];
    const fields = { checkpoint: 'all', delay_secs: HOUR, wait: { children: ['mine'] } };
    const { body } = await worker.post('/api/v1/reports', { reports: [{ ...reports[0], ...fields }] });
    expect(body.reports).toMatchObject([{ ok: true }]);
    for (const each of await lease(worker, below, { max_jobs: 2 })) await complete(worker, each);
    await again(queue);
    expect(await getJob(a, alone!)).toMatchObject({ status: 'completed', parent_job_id: parent.job.id });
  });

  it('are cancelled with their parent, and theirs too, but not those that are detached', async () => {
    const { parent, queue, below } = await begin();
    const deeper = newQueue();
    const [mine, detached, waits] = await made(parent, [
      child(below, 'mine'),
      child(below, 'detached', { detached: true }),
      child(below, 'waits', { delay_secs: HOUR }),
    ]);
    const [first, second] = await lease(worker, below, { max_jobs: 2, lease_secs: HOUR });
    expect(idsOf([first!, second!])).toEqual([mine, detached]);
    const [grandchild] = await made(first!, [child(deeper, 'x')]);
    const [ofDetached] = await made(second!, [child(deeper, 'y')]);
    await awaitAll(parent, ['mine']);
    await cancel(a, parent.job.id);
    for (const id of [mine, waits, grandchild]) await waitFor(a, id!, 'cancelled');
    expect((await getJob(a, detached!)).status).toBe('running');
    expect((await getJob(a, ofDetached!)).status).toBe('pending');
    expect(await lease(worker, queue)).toEqual([]);
    await until(async () => {
      const [row] = await database.query(`SELECT open FROM millrace.parents WHERE parent_id = $1`, [parent.job.id]);
      return row?.open === false || 'the parent is still open';
    });
  });

  it('that ended unheard are found, and their parent goes on', async () => {
    const { parent, queue, below } = await begin();
    const [id] = await made(parent, [child(below, 'x')]);
    await awaitAll(parent, ['x']);
    // As a process does it that knows nothing of parents. In one statement: a sweep in between would find no job.
    await database.query(
      `WITH gone AS (DELETE FROM millrace.ready WHERE id = $1 RETURNING id, tenant)
       INSERT INTO millrace.done (completed_at, retry_count, delivery_count, status, id, tenant, result)
       SELECT now(), 0, 1, 'completed', id, tenant, '{"n":1}' FROM gone`,
      [id],
    );
    await again(queue);
    expect(await ends(parent.job.id)).toEqual([{ name: 'x', job_id: id, status: 'completed', result: { n: 1 } }]);
  });

  it('whose parent nobody has woken are found, and it goes on', async () => {
    const { parent, queue, below } = await begin();
    const [id] = await made(parent, [child(below, 'x')]);
    await awaitAll(parent, ['x']);
    // As if the process had died right after the commit that ended the last child.
    await database.query(`
      WITH gone AS (DELETE FROM millrace.ready WHERE id = '${id}'), ended AS (
        UPDATE millrace.children SET status = 'cancelled' WHERE child_id = '${id}' RETURNING parent_id
      )
      UPDATE millrace.parents p SET pending = 0 FROM ended WHERE p.parent_id = ended.parent_id`);
    await again(queue);
    expect(await ends(parent.job.id)).toMatchObject([{ status: 'cancelled' }]);
  });

  it('that end while their parent begins to wait are not missed', async () => {
    const { parent, queue, below } = await begin();
    let holder = parent;
    for (let round = 0; round < 10; round++) {
      const names = Array.from({ length: 8 }, (_, n) => `${round}-${n}`);
      await made(
        holder,
        names.map((name) => child(below, name)),
      );
      const leased = await lease(worker, below, { max_jobs: 8 });
      const waits = awaitAll(holder, names, { checkpoint: `round ${round}` });
      await Promise.all([waits, ...leased.map((each) => complete(worker, each))]);
      holder = await again(queue);
      expect(await ends(holder.job.id, `round ${round}`)).toHaveLength(8);
    }
    const rows = await database.query(`SELECT pending, awaits FROM millrace.parents WHERE parent_id = $1`, [
      parent.job.id,
    ]);
    expect(rows).toEqual([{ pending: expect.any(Number), awaits: null }]);
  });

  it('may be removed before their parent has read how they ended; all that is kept goes with the parent', async () => {
    const { parent, queue, below } = await begin();
    const ids = await made(parent, [child(below, 'early'), child(below, 'late')]);
    await awaitAll(parent, ['early', 'late']);
    const [early, late] = await lease(worker, below, { max_jobs: 2, lease_secs: HOUR });
    await complete(worker, early!, { n: 1 });
    const logger = createLogger({ level: 'silent', format: 'json' });
    const db = new Database({ url: database.homeOf(TENANT_A).url, maxConnections: 3, logger });
    const removeOld = async (): Promise<void> => {
      const pass = new RetentionPass(db, 0);
      while (!pass.isOver) await pass.step();
    };
    await removeOld();
    expect((await a.get(`/api/v1/jobs/${ids[0]}`)).status).toBe(404);
    await complete(worker, late!, { n: 2 });
    const second = await again(queue);
    expect(await ends(parent.job.id)).toMatchObject([{ result: { n: 1 } }, { result: { n: 2 } }]);
    await complete(worker, second);
    await removeOld();
    await removeOld();
    await db.close();
    for (const table of ['children', 'parents'])
      expect(await database.query(`SELECT FROM millrace.${table} WHERE parent_id = $1`, [parent.job.id])).toEqual([]);
  });
});
