import type { DeadLetter } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { complete, fail, getJob, lease, newQueue } from '../kit.js';
import { inTime, LONGEST_WAIT_SECS } from '../waiting.js';
import { begin, bury, ended, getOperation, perform, post } from './operation-kit.js';

describe('a bulk replay', async () => {
  const { a, b, worker, database } = await useTestServer({ config: { mode: 'api' } });

  const letter = async (id: number): Promise<DeadLetter> => (await a.get(`/api/v1/dlq/${id}`)).body as DeadLetter;
  /** As if the outcome had last been counted some time ago. */
  const later = (): Promise<unknown> =>
    database.query(`UPDATE millrace.operations SET counted_at = least(counted_at, now()) - interval '1 minute'`);
  /** What was counted lately was counted a moment ago for as long as the test likes. */
  const stay = (): Promise<unknown> =>
    database.query(`UPDATE millrace.operations SET counted_at = counted_at + interval '1 hour'
      WHERE counted_at > now() - interval '50 seconds'`);

  it('replays every dead letter that matches, and nothing else', async () => {
    const [queue, other] = [newQueue(), newQueue()];
    const letters = await bury(a, worker, queue, 5);
    const [spared] = await bury(a, worker, other, 1);
    const [foreign] = await bury(b, worker, queue, 1);
    const operation = await perform(a, { action: 'replay_dead_letters', filter: { queue_name: queue } });
    expect(operation).toMatchObject({
      action: 'replay_dead_letters',
      filter: { queue_name: queue },
      status: 'completed',
      matched: { n: 5, exact: true },
      done: 5,
      changed: 5,
      skipped: 0,
      outcome: { completed: 0, failed: 0, unfinished: 5 },
    });
    for (const { id, job_id: jobId } of letters) {
      const { replayed_at: at, replay_job_id: replayId } = await letter(id);
      expect(at).not.toBeNull();
      const [first, again] = [await getJob(a, jobId), await getJob(a, replayId!)];
      expect(again).toMatchObject({ status: 'pending', retry_count: 0, created_at: at, queue_name: queue });
      expect(again.metadata).toEqual({ replayed_from_job: jobId, replayed_from_dead_letter: id });
      expect([again.task_name, again.payload, again.config]).toEqual([first.task_name, first.payload, first.config]);
      expect((await a.post(`/api/v1/dlq/${id}/replay`)).body.code).toBe('already_replayed');
    }
    expect((await letter(spared!.id)).replayed_at).toBeNull();
    expect((await b.get(`/api/v1/dlq/${foreign!.id}`)).body.replayed_at).toBeNull();
  });

  it('skips what has been replayed, and does not even look at it unless asked to', async () => {
    const queue = newQueue();
    const [one, two] = await bury(a, worker, queue, 2);
    expect((await a.post(`/api/v1/dlq/${one!.id}/replay`)).status).toBe(201);
    const all = { action: 'replay_dead_letters', filter: { queue_name: queue, replayed: true } };
    expect(await perform(a, all)).toMatchObject({ done: 1, changed: 0, skipped: 1 });
    const ids = { action: 'replay_dead_letters', ids: [String(one!.id), String(two!.id)] };
    expect(await perform(a, ids)).toMatchObject({ filter: null, done: 2, changed: 1, skipped: 1 });
    const rest = { action: 'replay_dead_letters', filter: { queue_name: queue } };
    expect(await perform(a, rest)).toMatchObject({ matched: { n: 0, exact: true }, done: 0 });
  });

  it('skips a dead letter whose job retention has removed', async () => {
    const queue = newQueue();
    const [gone] = await bury(a, worker, queue, 1);
    await database.query('DELETE FROM millrace.jobs WHERE id = $1', [gone!.job_id]);
    const operation = await perform(a, { action: 'replay_dead_letters', filter: { job_id: gone!.job_id } });
    expect(operation).toMatchObject({ done: 1, changed: 0, skipped: 1 });
    expect((await letter(gone!.id)).replayed_at).toBeNull();
  });

  it('finds dead letters by task, reason, job and fingerprint', async () => {
    const queue = newQueue();
    const [one] = await bury(a, worker, queue, 1);
    const match = async (filter: object): Promise<number> =>
      (await post(a, { action: 'replay_dead_letters', filter: { queue_name: queue, ...filter }, dry_run: true })).body
        .matched.n as number;
    expect(await match({ task_name: 'task' })).toBe(1);
    expect(await match({ task_name: 'another' })).toBe(0);
    expect(await match({ reason: 'non_retryable' })).toBe(1);
    expect(await match({ reason: 'handler_not_found' })).toBe(0);
    expect(await match({ job_id: one!.job_id })).toBe(1);
    expect(await match({ job_id: 'no such id' })).toBe(0);
    expect(await match({ fingerprint: one!.fingerprint })).toBe(1);
    expect(await match({ fingerprint: 'another' })).toBe(0);
    expect(await match({ created_before: one!.created_at })).toBe(0);
    expect(await match({ created_after: one!.created_at })).toBe(1);
  });

  it('replays nothing that fails after it', async () => {
    const queue = newQueue();
    await bury(a, worker, queue, 3);
    const id = await begin(a, { action: 'replay_dead_letters', filter: { queue_name: queue } });
    expect(await ended(a, id)).toMatchObject({ changed: 3 });
    for (const each of await lease(worker, queue, { max_jobs: 3 })) await fail(worker, each, { retryable: false });
    const { body } = await a.get(`/api/v1/dlq?queue_name=${queue}&replayed=false`);
    expect(body.dead_letters).toHaveLength(3);
    expect(await getOperation(a, id)).toMatchObject({ done: 3, changed: 3 });
  });

  it('tells what became of the jobs, counted now and then', async () => {
    const queue = newQueue();
    await bury(a, worker, queue, 4);
    const id = await begin(a, { action: 'replay_dead_letters', filter: { queue_name: queue } });
    expect((await ended(a, id)).outcome).toEqual({ completed: 0, failed: 0, unfinished: 4 });
    const [one, two, three, four] = await lease(worker, queue, { max_jobs: 4 });
    await complete(worker, one!);
    await fail(worker, two!, { retryable: false });
    await a.post(`/api/v1/jobs/${three!.job.id}/cancel`);
    await later();
    expect((await getOperation(a, id)).outcome).toEqual({ completed: 1, failed: 2, unfinished: 1 });
    await stay();
    await complete(worker, four!);
    // It was counted a moment ago, and is not counted again at every look.
    expect((await getOperation(a, id)).outcome).toEqual({ completed: 1, failed: 2, unfinished: 1 });
    await later();
    const { body } = await a.get('/api/v1/operations');
    expect(body.operations[0]).toMatchObject({ id, outcome: { completed: 2, failed: 2, unfinished: 0 } });
    const [left] = await database.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM millrace.operation_jobs WHERE operation_id = $1',
      [id],
    );
    expect(left).toEqual({ n: 0 });
  });

  it('counts a replayed job that retention has removed as neither', async () => {
    const queue = newQueue();
    const [one] = await bury(a, worker, queue, 1);
    const id = await begin(a, { action: 'replay_dead_letters', ids: [String(one!.id)] });
    await ended(a, id);
    const { replay_job_id: jobId } = await letter(one!.id);
    await database.query('DELETE FROM millrace.ready WHERE id = $1', [jobId]);
    await database.query('DELETE FROM millrace.jobs WHERE id = $1', [jobId]);
    await later();
    expect((await getOperation(a, id)).outcome).toEqual({ completed: 0, failed: 0, unfinished: 0 });
  });

  it('wakes the workers that wait for its jobs', async () => {
    const { id, leased } = await inTime(LONGEST_WAIT_SECS, async (time) => {
      const queue = newQueue();
      await bury(a, worker, queue, 1);
      time.restart();
      const waiting = lease(worker, queue, { wait_secs: LONGEST_WAIT_SECS });
      const id = await begin(a, { action: 'replay_dead_letters', filter: { queue_name: queue } });
      const [leased] = await waiting;
      expect(leased).toBeDefined();
      return { id, leased: leased! };
    });
    await complete(worker, leased);
    await later();
    await until(async () => (await getOperation(a, id)).outcome.completed === 1 || 'it is not counted');
  });
});
