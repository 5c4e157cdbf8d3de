import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { complete, createJob, createJobs, fail, getJob, lease, leaseOne, newQueue } from '../kit.js';
import { perform } from './operation-kit.js';

describe('jobs in bulk', async () => {
  const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });

  it('run now: those that wait for their time become due, and the others stay as they are', async () => {
    const queue = newQueue();
    const later = await createJob(a, queue, { delay_secs: 3600 });
    const limited = await createJob(a, queue, {
      delay_secs: 3600,
      config: { limits: [{ key: 'one', running: 1 }] },
    });
    const retried = await createJob(a, queue, { config: { retry_delay_secs: 3600, priority: 5 } });
    await fail(worker, await leaseOne(worker, queue), { error: 'so what' });
    const foreign = await createJob(b, queue, { delay_secs: 3600 });
    const [due] = await createJobs(a, newQueue(), 1);
    const preview = await a.post('/api/v1/operations', { action: 'run_jobs_now', filter: { queue }, dry_run: true });
    expect(preview.body.matched).toEqual({ n: 3, exact: true });
    expect(await perform(a, { action: 'run_jobs_now', filter: { queue } })).toMatchObject({
      ...{ matched: { n: 3 }, done: 3, changed: 3, skipped: 0 },
    });
    const held = new Set<string>();
    while (held.size < 3) for (const { job } of await lease(worker, queue, { wait_secs: 5 })) held.add(job.id);
    expect(held).toEqual(new Set([later, limited, retried]));
    expect(await perform(a, { action: 'run_jobs_now', ids: [due!, foreign, later] })).toMatchObject({
      ...{ matched: { n: 2 }, changed: 0, skipped: 2 },
    });
    expect((await getJob(b, foreign)).status).toBe('pending');
    expect(await lease(worker, queue)).toEqual([]);
  });

  it('run now, by their error: only the retries that failed with it', async () => {
    const queue = newQueue();
    const [one, two] = [await createJob(a, queue, RETRIED), await createJob(a, queue, RETRIED)];
    await fail(worker, await leaseOne(worker, queue), { error: 'the disk is full' });
    await fail(worker, await leaseOne(worker, queue), { error: 'the net is down' });
    const operation = await perform(a, { action: 'run_jobs_now', filter: { queue, error: 'DISK IS' } });
    expect(operation).toMatchObject({ matched: { n: 1, exact: true }, changed: 1, filter: { error: 'DISK IS' } });
    expect((await lease(worker, queue, { max_jobs: 2 })).map(({ job }) => job.id)).toEqual([one]);
    expect((await getJob(a, two)).status).toBe('retrying');
  });

  it('rerun: ended jobs are created anew, byte for byte, once', async () => {
    const queue = newQueue();
    const body = (n: number): string =>
      `{"task_name":"copy","payload":{"n": 1.10, "u":"\\u00e9 ${n}"},"metadata":{ "tag":"x" },` +
      `"config":{"queue":"${queue}","priority":3}}`;
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push((await a.post('/api/v1/jobs', body(n))).body.job_id as string);
    await complete(worker, await leaseOne(worker, queue));
    await fail(worker, await leaseOne(worker, queue), { retryable: false });
    const filter = { queue, metadata: { tag: 'x' } };
    const operation = await perform(a, { action: 'rerun_jobs', filter });
    expect(operation).toMatchObject({ matched: { n: 2, exact: true }, changed: 2, outcome: { unfinished: 2 }, filter });
    const { text } = await a.get(`/api/v1/jobs?queue=${queue}&status=pending&order_by=created_at%20ASC`);
    const copies = (JSON.parse(text).jobs as { id: string; metadata: { rerun_of?: string } }[]).filter(
      ({ metadata }) => metadata.rerun_of !== undefined,
    );
    expect(new Set(copies.map(({ metadata }) => metadata.rerun_of))).toEqual(new Set(ids.slice(0, 2)));
    for (const { id } of copies) {
      const copy = await a.get(`/api/v1/jobs/${id}`);
      expect(copy.text).toContain('"payload":{"n": 1.10, "u":"\\u00e9 ');
      expect(copy.body).toMatchObject({
        task_name: 'copy',
        queue_name: queue,
        config: { priority: 3 },
        retry_count: 0,
      });
    }
    expect(await perform(a, { action: 'rerun_jobs', ids: [ids[2]!] })).toMatchObject({ changed: 0, skipped: 1 });
    expect(await perform(b, { action: 'rerun_jobs', ids })).toMatchObject({ matched: { n: 0 }, changed: 0 });
  });

  it('refuses what is no filter of jobs', async () => {
    for (const [filter, path] of [
      [{ metadata: {} }, 'filter.metadata'],
      [{ metadata: { a: '1', b: '2' } }, 'filter.metadata'],
      [{ metadata: { a: 7 } }, 'filter.metadata.a'],
      [{ error: 'ab' }, 'filter.error'],
      [{ reason: 'non_retryable' }, 'filter.reason'],
    ] as const) {
      const { status, body } = await a.post('/api/v1/operations', { action: 'rerun_jobs', filter, dry_run: true });
      expect([status, body.details?.[0].path], JSON.stringify(filter)).toEqual([400, path]);
    }
  });
});

const RETRIED = { config: { retry_delay_secs: 3600 } };
