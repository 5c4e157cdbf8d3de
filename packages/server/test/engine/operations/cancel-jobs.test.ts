import type { DryRun } from '@millrace/contract';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { useTestServer } from '../../support/server.js';
import {
  complete,
  createJob,
  createJobs,
  fail,
  getJob,
  heartbeat,
  inSeconds,
  lease,
  leaseOne,
  listAll,
  newQueue,
  stats,
} from '../kit.js';
import { begin, ended, perform, post } from './operation-kit.js';

describe('a bulk cancellation', async () => {
  const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });

  /** One after the other: a tenant's reads take turns, and on a slow machine dozens may not all get theirs in time. */
  const statusesOf = async (ids: readonly string[]): Promise<string[]> => {
    const statuses: string[] = [];
    for (const id of ids) statuses.push((await getJob(a, id)).status);
    return statuses;
  };

  it('cancels every job that matches, batch by batch, and nothing else', async () => {
    const [queue, other] = [newQueue(), newQueue()];
    const ids = await createJobs(a, queue, 1_200);
    const spared = [await createJob(a, other), await createJob(b, queue)] as const;
    const before = await stats(a);
    const operation = await perform(a, { action: 'cancel_jobs', filter: { queue } });
    expect(operation).toEqual({
      id: operation.id,
      action: 'cancel_jobs',
      filter: { queue },
      status: 'completed',
      matched: { n: 1_200, exact: true },
      done: 1_200,
      changed: 1_200,
      skipped: 0,
      outcome: { completed: 0, failed: 0, unfinished: 0 },
      created_at: expect.any(String),
      completed_at: expect.any(String),
    });
    expect((await listAll(a, `queue=${queue}&status=cancelled&limit=100`)).map(({ id }) => id).sort()).toEqual(ids);
    expect((await getJob(a, spared[0])).status).toBe('pending');
    expect((await getJob(b, spared[1])).status).toBe('pending');
    expect((await stats(a)).jobs_cancelled! - before.jobs_cancelled!).toBe(1_200);
  });

  it('ends waiting, scheduled, retrying and running jobs as a single cancellation does', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 2, { retry_delay_secs: 3600 });
    const [running, retrying] = await lease(worker, queue, { max_jobs: 2 });
    await fail(worker, retrying!, { error: 'the last one' });
    const ids = [
      running!.job.id,
      retrying!.job.id,
      await createJob(a, queue),
      await createJob(a, queue, { run_at: inSeconds(3600) }),
    ];
    const operation = await perform(a, { action: 'cancel_jobs', filter: { queue } });
    expect(operation).toMatchObject({ matched: { n: 4, exact: true }, done: 4, changed: 4, skipped: 0 });
    expect(new Set(await statusesOf(ids))).toEqual(new Set(['cancelled']));
    expect(await getJob(a, retrying!.job.id)).toMatchObject({ error_message: 'the last one', next_retry_at: null });
    expect((await heartbeat(worker, running!)).body).toEqual({ status: 'cancelled' });
    expect((await complete(worker, running!)).status).toBe(204);
    expect((await getJob(a, running!.job.id)).status).toBe('cancelled');
    expect(await lease(worker, queue)).toEqual([]);
    const { body } = await a.get(`/api/v1/jobs/${running!.job.id}/attempts`);
    expect(body.attempts).toMatchObject([{ number: 1, outcome: 'cancelled' }]);
  });

  it('touches only the states that it is asked for', async () => {
    const queue = newQueue();
    const [first, second] = await createJobs(a, queue, 2);
    expect((await leaseOne(worker, queue)).job.id).toBe(first);
    expect(await perform(a, { action: 'cancel_jobs', filter: { queue, status: 'pending,retrying' } })).toMatchObject({
      changed: 1,
      skipped: 0,
    });
    expect(await statusesOf([first!, second!])).toEqual(['running', 'cancelled']);
  });

  it('skips jobs that have ended', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 2);
    const leased = await leaseOne(worker, queue);
    await complete(worker, leased);
    const filtered = await perform(a, { action: 'cancel_jobs', filter: { queue, status: 'completed' } });
    expect(filtered).toMatchObject({ matched: { n: 1, exact: true }, done: 1, changed: 0, skipped: 1 });
    const named = await perform(a, { action: 'cancel_jobs', ids: [leased.job.id] });
    expect(named).toMatchObject({ filter: null, done: 1, changed: 0, skipped: 1 });
    expect((await getJob(a, leased.job.id)).status).toBe('completed');
  });

  it('finds jobs by task, workflow, key and time', async () => {
    const queue = newQueue();
    const one = await createJob(a, queue, { task_name: 'one' });
    const two = await createJob(a, queue, { task_name: 'two' });
    expect(await perform(a, { action: 'cancel_jobs', filter: { queue, task: 'one' } })).toMatchObject({ changed: 1 });
    expect(await statusesOf([one, two])).toEqual(['cancelled', 'pending']);
    const { created_at: at } = await getJob(a, two);
    const before = { queue, created_before: at };
    expect(await perform(a, { action: 'cancel_jobs', filter: before })).toMatchObject({ changed: 0, done: 0 });
    const since = { queue, created_after: at };
    expect(await perform(a, { action: 'cancel_jobs', filter: since })).toMatchObject({ changed: 1, filter: since });
    const keyed = await a.post(
      '/api/v1/jobs',
      { task_name: 'task', config: { queue } },
      { 'idempotency-key': `key of ${queue}` },
    );
    const byKey = { idempotency_key: `key of ${queue}` };
    expect(await perform(a, { action: 'cancel_jobs', filter: byKey })).toMatchObject({ changed: 1 });
    expect(await statusesOf([keyed.body.job_id as string])).toEqual(['cancelled']);
    expect(await perform(b, { action: 'cancel_jobs', filter: byKey })).toMatchObject({ done: 0 });
    expect(await perform(a, { action: 'cancel_jobs', filter: { workflow_id: 'no such id' } })).toMatchObject({
      matched: { n: 0, exact: true },
      status: 'completed',
    });
  });

  it('advances the workflows of the steps that it cancels', async () => {
    const step = (name: string, depends_on: string[] = [], on_failure = 'halt') => ({
      name,
      task_name: 'step',
      depends_on,
      on_failure,
    });
    const steps = [step('left', [], 'skip'), step('right', [], 'skip'), step('after', ['left', 'right'])];
    const workflow = (await a.post('/api/v1/workflows', { name: 'cancelled', steps })).body.workflow_id as string;
    const others = (await a.post('/api/v1/workflows', { name: 'spared', steps })).body.workflow_id as string;
    const operation = await perform(a, { action: 'cancel_jobs', filter: { workflow_id: workflow } });
    expect(operation).toMatchObject({ matched: { n: 2, exact: true }, changed: 2, skipped: 0 });
    const single = await a.get(`/api/v1/workflows/${others}/steps`);
    for (const { job_id: id } of (single.body.steps as { job_id: string | null }[]).slice(0, 2))
      expect((await a.post(`/api/v1/jobs/${id}/cancel`)).status).toBe(204);
    const shape = async (id: string): Promise<unknown[]> => {
      const { body } = await a.get(`/api/v1/workflows/${id}/steps`);
      const { status } = (await a.get(`/api/v1/workflows/${id}`)).body;
      return [status, (body.steps as { name: string; status: string }[]).map((each) => [each.name, each.status])];
    };
    expect(await shape(workflow)).toEqual(await shape(others));
    expect((await shape(workflow))[0]).not.toBe('running');
  });

  it('works on the given ids: each once, those of other tenants and unknown ones not at all', async () => {
    const queue = newQueue();
    const mine = await createJobs(a, queue, 3);
    const foreign = await createJob(b, queue);
    const unknown = '00000000-0000-7000-8000-000000000000';
    const ids = [mine[0]!, mine[1]!, mine[0]!, foreign, unknown];
    const dry = await post(a, { action: 'cancel_jobs', ids, dry_run: true });
    expect(dry.body.matched).toEqual({ n: 2, exact: true });
    expect((dry.body.sample as { id: string }[]).map(({ id }) => id)).toEqual([mine[0], mine[1]]);
    expect(await perform(a, { action: 'cancel_jobs', ids })).toMatchObject({
      filter: null,
      matched: { n: 2, exact: true },
      done: 2,
      changed: 2,
      skipped: 0,
    });
    expect(await statusesOf(mine)).toEqual(['cancelled', 'cancelled', 'pending']);
    expect((await getJob(b, foreign)).status).toBe('pending');
  });

  it('takes a thousand ids', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, 1_000);
    expect(await perform(a, { action: 'cancel_jobs', ids })).toMatchObject({ done: 1_000, changed: 1_000 });
  });

  it('touches nothing that is created after it, however long it takes', async () => {
    const queue = newQueue();
    const before = await createJobs(a, queue, 600);
    const id = await begin(a, { action: 'cancel_jobs', filter: { queue } });
    const after = await createJobs(a, queue, 50);
    expect(await ended(a, id)).toMatchObject({ changed: before.length, matched: { n: before.length, exact: true } });
    expect(new Set(await statusesOf(after))).toEqual(new Set(['pending']));
    await perform(a, { action: 'cancel_jobs', filter: { queue } });
  });

  describe('that has little time to count', () => {
    let [queue, small] = ['', ''];
    const dryRun = async (filter: object): Promise<DryRun> =>
      (await post(a, { action: 'cancel_jobs', filter, dry_run: true })).body as DryRun;

    beforeEach(async () => {
      [queue, small] = [newQueue(), newQueue()];
      await createJobs(a, queue, 1_500);
      await createJobs(a, small, 5);
    });

    /** A clock that is far on whenever somebody looks at it: after every step of a count, time is up. */
    const inHurry = async <T>(work: () => Promise<T>): Promise<T> => {
      let ms = performance.now();
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => (ms += 5_000));
      return work().finally(() => clock.mockRestore());
    };

    it('tells exactly how many match if it is enough', async () => {
      // It is, as long as time stands still.
      const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
      onTestFinished(() => clock.mockRestore());
      expect((await dryRun({ queue })).matched).toEqual({ n: 1_500, exact: true });
    });

    it('tells how many match at least, until it has ended', async () => {
      const { matched, sample } = await inHurry(() => dryRun({ queue }));
      expect(matched.exact).toBe(false);
      expect(matched.n).toBeGreaterThan(0);
      expect(matched.n).toBeLessThan(1_500);
      expect(sample).toHaveLength(10);
      const id = await inHurry(() => begin(a, { action: 'cancel_jobs', filter: { queue } }));
      expect(await ended(a, id)).toMatchObject({ matched: { n: 1_500, exact: true }, changed: 1_500 });
    });

    it('finds what is new behind much that is old', async () => {
      const { matched, sample } = await inHurry(() => dryRun({ queue: small }));
      expect(matched).toEqual({ n: 5, exact: false });
      const ages = sample.map(({ created_at }) => Date.parse(created_at));
      expect(ages).toEqual([...ages].sort((one, other) => one - other));
    });
  });
});
