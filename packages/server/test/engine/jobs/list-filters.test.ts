import type { Job } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { cancel, complete, createJob, createJobs, fail, lease, newQueue } from '../kit.js';

describe('lists of jobs by', async () => {
  const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });
  const list = async (query: string, client = a): Promise<any> => {
    const reply = await client.get(`/api/v1/jobs?${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  };
  const ids = ({ jobs }: { jobs: readonly Job[] }): string[] => jobs.map(({ id }) => id);

  /** One job in each state, and two that wait. */
  async function oneOfEach(queue: string): Promise<Record<string, string>> {
    await createJobs(a, queue, 6, { retry_delay_secs: 3600 });
    const [completed, retrying, failed, cancelled, running] = await lease(worker, queue, { max_jobs: 5 });
    await complete(worker, completed!);
    await fail(worker, retrying!);
    await fail(worker, failed!, { retryable: false });
    await cancel(a, cancelled!.job.id);
    const all = await list(`queue=${queue}`);
    const pending = all.jobs.find(({ status }: Job) => status === 'pending').id as string;
    const held = { completed, retrying, failed, cancelled, running };
    return { pending, ...Object.fromEntries(Object.entries(held).map(([state, each]) => [state, each!.job.id])) };
  }

  describe('several states', () => {
    it('show those of all of them, in the order of the list, and count them', async () => {
      const queue = newQueue();
      const made = await oneOfEach(queue);
      for (const states of [
        ['failed', 'cancelled'],
        ['pending', 'retrying', 'running'],
        ['completed', 'pending', 'failed'],
        Object.keys(made),
      ]) {
        const expected = states.map((state) => made[state]!).sort();
        for (const where of [`queue=${queue}&`, '']) {
          const query = `${where}status=${states.join(',')}&include_total=true`;
          expect(ids(await list(`${query}&order_by=created_at ASC`))).toEqual(expected);
          const newest = await list(query);
          expect(ids(newest)).toEqual([...expected].reverse());
          expect(newest.total).toBe(states.length);
        }
      }
      await cancelAll(queue);
    });

    it('take spaces and repetitions, page by cursor and by offset, and stay within the tenant', async () => {
      const queue = newQueue();
      const cancelled = await createJobs(a, queue, 9);
      for (const id of cancelled.filter((_, n) => n % 2 === 0)) await cancel(a, id);
      const theirs = await createJob(b, queue);
      const query = `queue=${queue}&status=%20cancelled,pending+,cancelled&order_by=created_at+ASC&limit=4`;
      const seen: string[] = [];
      for (let cursor = ''; ;) {
        const page = await list(query + cursor);
        seen.push(...ids(page));
        if (!page.has_more) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(seen).toEqual(cancelled);
      expect(ids(await list(`${query}&offset=6`))).toEqual(cancelled.slice(6));
      expect(ids(await list(`queue=${queue}&status=cancelled,pending`, b))).toEqual([theirs]);
      await cancelAll(queue);
    });

    it('refuse a word that is no state, wherever it stands', async () => {
      for (const status of ['failed,lost', ',failed', 'failed,', 'failed;cancelled', ' ']) {
        const reply = await a.get(`/api/v1/jobs?status=${encodeURIComponent(status)}`);
        expect([reply.status, reply.body.details?.[0].path]).toEqual([400, 'status']);
      }
    });
  });

  const cancelAll = async (queue: string): Promise<void> => {
    for (const { id } of (await list(`queue=${queue}&status=pending,retrying,running`)).jobs) await cancel(a, id);
  };

  describe('their workflow', () => {
    it('show its jobs, whatever else is asked for, and nobody else any of them', async () => {
      const steps = ['x', 'y', 'z'].map((name) => ({ name, task_name: `t-${name}` }));
      const { workflow_id: flow } = (await a.post('/api/v1/workflows', { name: 'w', steps })).body;
      const all = await list(`workflow_id=${flow}&include_total=true&order_by=created_at ASC`);
      expect(all.jobs.map((job: Job) => job.workflow_step_id).sort()).toEqual(['x', 'y', 'z']);
      expect(all.total).toBe(3);
      const first = all.jobs[0] as Job;
      await cancel(a, first.id);
      const under = async (query: string): Promise<string[]> => ids(await list(`workflow_id=${flow}&${query}`));
      expect(await under('status=cancelled')).toContain(first.id);
      expect(await under('status=running')).toEqual([]);
      expect(await under(`task=${first.task_name}`)).toEqual([first.id]);
      expect(await under(`queue=default&limit=1&offset=2`)).toHaveLength(1);
      expect(await under('queue=elsewhere')).toEqual([]);
      const page = await list(`workflow_id=${flow}&limit=2`);
      expect(page.has_more).toBe(true);
      expect(ids(await list(`workflow_id=${flow}&limit=2&cursor=${page.next_cursor}`))).toEqual([all.jobs[0].id]);
      expect(ids(await list(`workflow_id=${flow}`, b))).toEqual([]);
    });

    it.each(['x', '', '0198c7f0-0000-7000-8000-00000000000g', '0198c7f0-0000-7000-8000-000000000001'])(
      'are an empty page for %j',
      async (flow) => {
        const page = await list(`workflow_id=${flow}&include_total=true`);
        expect(page).toEqual({ jobs: [], limit: 50, offset: 0, has_more: false, total: 0 });
        expect((await a.get(`/api/v1/jobs?workflow_id=${flow}&cursor=x`)).status).toBe(400);
      },
    );
  });

  describe('their idempotency key', () => {
    it('show the one job that was created with it, if all else fits', async () => {
      const queue = newQueue();
      const key = `key of ${queue}`;
      const body = { task_name: 'keyed', config: { queue } };
      const { job_id: id } = (await a.post('/api/v1/jobs', body, { 'idempotency-key': key })).body;
      const { job_id: theirs } = (await b.post('/api/v1/jobs', body, { 'idempotency-key': key })).body;
      const under = async (query: string, client = a): Promise<string[]> =>
        ids(await list(`idempotency_key=${encodeURIComponent(key)}&${query}`, client));
      expect(await under('')).toEqual([id]);
      expect(await under('', b)).toEqual([theirs]);
      expect(await under(`queue=${queue}&task=keyed&status=pending,running`)).toEqual([id]);
      for (const other of ['queue=other', 'task=other', 'status=completed', 'workflow_id=x']) {
        expect([other, await under(other)]).toEqual([other, []]);
      }
      expect(await under('created_before=2020-01-01T00:00:00Z')).toEqual([]);
      expect((await list(`idempotency_key=${encodeURIComponent(key)}&include_total=1`)).total).toBe(1);
      expect(ids(await list('idempotency_key=no-such-key'))).toEqual([]);
    });
  });

  describe('whether they are due', () => {
    it('show what the depth of their queue counts, one by one and by state', async () => {
      const queue = newQueue();
      const [waiting] = await createJobs(a, queue, 1, { priority: -1 });
      const later = await createJob(a, queue, { delay_secs: 3600 });
      const retry = async (delay: number, priority: number): Promise<string> => {
        const config = { retry_delay_secs: delay, jitter_factor: 0, priority };
        const [id] = await createJobs(a, queue, 1, config);
        const [leased] = await lease(worker, queue);
        await fail(worker, leased!);
        return id!;
      };
      const retryLater = await retry(3600, 9);
      const [running] = await createJobs(a, queue, 1, { priority: 8 });
      await lease(worker, queue);
      const dueRetry = await retry(0, 7);
      await createJob(b, queue);
      const under = async (query: string): Promise<string[]> =>
        ids(await list(`queue=${queue}&order_by=created_at ASC&${query}`));
      expect(await under('due=true')).toEqual([waiting, dueRetry]);
      expect(await under('due=false')).toEqual([later, retryLater]);
      expect(await under('due=true&status=pending')).toEqual([waiting]);
      expect(await under('due=false&status=pending')).toEqual([later]);
      expect(await under('due=false&status=retrying,completed')).toEqual([retryLater]);
      expect(await under('due=true&status=running')).toEqual([]);
      expect(await under('status=running')).toEqual([running]);
      const depth = (await a.get(`/api/v1/queues/${queue}`)).body;
      const { pending, scheduled, retrying, retrying_later } = depth;
      expect({ pending, scheduled, retrying, retrying_later }).toEqual({
        ...{ pending: 2, scheduled: 2, retrying: 2, retrying_later: 1 },
      });
      const page = await list(`queue=${queue}&due=true&limit=1&include_total=true`);
      expect([ids(page), page.total, page.has_more]).toEqual([[dueRetry], 2, true]);
      expect(ids(await list(`queue=${queue}&due=true&limit=1&cursor=${page.next_cursor}`))).toEqual([waiting]);
      const filter = { queue, due: false };
      const dry = await a.post('/api/v1/operations', { action: 'cancel_jobs', filter, dry_run: true });
      expect(dry.body.matched).toEqual({ n: 2, exact: true });
      expect((await a.get('/api/v1/jobs?due=perhaps')).body.details[0].path).toBe('due');
      await cancelAll(queue);
    });

    it('go with a key and a workflow', async () => {
      const queue = newQueue();
      const key = `due ${queue}`;
      const body = { task_name: 'keyed', delay_secs: 3600, config: { queue } };
      const { job_id: id } = (await a.post('/api/v1/jobs', body, { 'idempotency-key': key })).body;
      const found = async (due: boolean) => ids(await list(`idempotency_key=${key}&due=${due}`));
      expect([await found(true), await found(false)]).toEqual([[], [id]]);
    });
  });

  describe('view=summary', () => {
    it('leave out payload, result and metadata, and say how large the payload is', async () => {
      const queue = newQueue();
      const payloads = [{}, { text: 'ü€😀' }, { text: 'x'.repeat(300_000) }, { n: [1, 2, 3] }];
      for (const payload of payloads) await createJob(a, queue, { payload, metadata: { m: 'secret' } });
      const [first] = await lease(worker, queue);
      await complete(worker, first!, { r: 'secret' });
      const full = await list(`queue=${queue}`);
      const summary = await a.get(`/api/v1/jobs?queue=${queue}&view=summary`);
      expect(summary.text).not.toContain('secret');
      const { jobs } = summary.body;
      for (const [n, job] of (full.jobs as Job[]).entries()) {
        const { payload, result: _, metadata: __, ...rest } = job;
        expect(jobs[n]).toEqual({ ...rest, payload_bytes: Buffer.byteLength(JSON.stringify(payload)) });
      }
      expect(summary.body.has_more).toBe(false);
      expect((await list(`queue=${queue}&view=full`)).jobs).toEqual(full.jobs);
      expect((await a.get('/api/v1/jobs?view=brief')).status).toBe(400);
    });

    it('count the context that a step receives, however it is stored', async () => {
      const steps = ['x', 'y'].map((name) => ({ name, task_name: 't', payload: name === 'x' ? {} : { y: 1 } }));
      for (const context of [{ small: 'ü' }, { large: 'ü'.repeat(5_000) }]) {
        const { workflow_id: flow } = (await a.post('/api/v1/workflows', { name: 'w', context, steps })).body;
        const full = (await list(`workflow_id=${flow}`)).jobs as Job[];
        const summaries = (await list(`workflow_id=${flow}&view=summary`)).jobs;
        expect(full.every(({ payload }) => '_context' in payload)).toBe(true);
        expect(summaries.map((job: { payload_bytes: number }) => job.payload_bytes)).toEqual(
          full.map(({ payload }) => Buffer.byteLength(JSON.stringify(payload))),
        );
      }
    });

    it('page like full records, beside every filter', async () => {
      const queue = newQueue();
      const made = await createJobs(a, queue, 7);
      const first = await list(`queue=${queue}&view=summary&limit=3&status=pending,running&task=task`);
      const next = await list(`queue=${queue}&view=summary&limit=4&task=task&cursor=${first.next_cursor}`);
      expect([...ids(first), ...ids(next)]).toEqual(made.toReversed());
      expect(next.jobs.every((job: object) => !('payload' in job))).toBe(true);
    });
  });
});
