import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { task, type } from '../../src/index.js';
import { fakeStage, lease, realStage, type Stage } from '../support/stages.js';

describe.each([
  ['the server in memory', fakeStage],
  ['the service', realStage],
])('limits, unique jobs and expiry on %s', (_, start) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await start();
  });
  afterAll(() => stage.stop());

  const fresh = () => task({ name: 'double', queue: `q-${randomUUID().slice(0, 8)}`, input: type<{ n: number }>() });
  const numbers = async (queue: string, options: object = {}): Promise<unknown[]> =>
    (await lease(stage, queue, options)).map(({ job }) => job.payload.n);

  it('no more jobs of a key run than the newest one says, and others pass them', async () => {
    const double = fresh();
    const limits = [{ key: 'k', running: 1 }];
    for (const n of [1, 2]) await stage.millrace.enqueue(double, { n }, { limits });
    await stage.millrace.enqueue(double, { n: 3 });
    const [first, other] = await lease(stage, double.queue);
    expect([first?.job.payload.n, other?.job.payload.n]).toEqual([1, 3]);
    expect(await numbers(double.queue)).toEqual([]);
    await stage.work(`/jobs/${first!.job.id}/complete`, { lease_token: first!.lease_token, result: {} });
    await expect.poll(() => numbers(double.queue)).toEqual([2]);
    await stage.millrace.enqueue(double, { n: 4 }, { limits: [{ key: 'k', running: 2 }] });
    await expect.poll(() => numbers(double.queue)).toEqual([4]);
  });

  it('a job with two limits waits for both', async () => {
    const double = fresh();
    const limit = (key: string) => ({ key, running: 1 });
    await stage.millrace.enqueue(double, { n: 1 }, { limits: [limit('x')] });
    await stage.millrace.enqueue(double, { n: 2 }, { limits: [limit('y'), limit('x')] });
    const [first] = await lease(stage, double.queue);
    expect(await numbers(double.queue)).toEqual([]);
    await stage.work(`/jobs/${first!.job.id}/complete`, { lease_token: first!.lease_token, result: {} });
    await expect.poll(() => numbers(double.queue)).toEqual([2]);
  });

  it('a call gets the job of its unique key while that waits, or has not ended', async () => {
    const double = fresh();
    const waiting = { unique: { key: 'w', while: 'waiting' } } as const;
    const unfinished = { unique: { key: 'u', while: 'unfinished' } } as const;
    for (const options of [waiting, unfinished]) {
      const first = await stage.millrace.enqueue(double, { n: 1 }, options);
      expect((await stage.millrace.enqueue(double, { n: 2 }, options)).id).toBe(first.id);
      const [leased] = await lease(stage, double.queue);
      const again = await stage.millrace.enqueue(double, { n: 3 }, options);
      expect(again.id === first.id).toBe(options === unfinished);
      await stage.work(`/jobs/${first.id}/complete`, { lease_token: leased!.lease_token, result: {} });
      const last = await stage.millrace.enqueue(double, { n: 4 }, options);
      expect(last.id).not.toBe(first.id);
      await last.cancel();
    }
  });

  it('says of a batch, and of one job, what was there', async () => {
    const { queue } = fresh();
    const job = { task_name: 't', config: { queue, unique: { key: 'k', while: 'waiting' } } };
    expect((await stage.call('POST', '/jobs', job)).status).toBe(201);
    expect((await stage.call('POST', '/jobs', job)).status).toBe(200);
    const batch = await stage.call('POST', '/jobs/batch', { jobs: [job, { task_name: 't', config: { queue } }] });
    expect(batch).toMatchObject({ status: 201, body: { count: 2, existing: [0] } });
  });

  it('a replaced job is put off, but not for ever', async () => {
    const double = fresh();
    const unique = { key: 'd', while: 'waiting', onConflict: 'replace', maxWait: '90m' } as const;
    const put = (n: number) => stage.millrace.enqueue(double, { n }, { unique, delay: '60m' });
    const job = await put(1);
    await stage.advance('45m');
    expect((await put(2)).id).toBe(job.id);
    await stage.advance('40m');
    expect((await put(3)).id).toBe(job.id);
    expect(await numbers(double.queue)).toEqual([]);
    await stage.advance('6m');
    await expect.poll(() => numbers(double.queue)).toEqual([3]);
  });

  it('a job that nobody began in time is cancelled', async () => {
    const double = fresh();
    const late = await stage.millrace.enqueue(double, { n: 1 }, { expires: '60m' });
    await stage.advance('61m');
    expect(await numbers(double.queue)).toEqual([]);
    await expect.poll(async () => (await late.get()).status).toBe('cancelled');
    expect(await late.get()).toMatchObject({ errorMessage: 'expired before it started', deliveryCount: 0 });
  });

  it.each<[object, string]>([
    [{ expires_secs: 9, expires_at: '2030-01-01T00:00:00Z' }, 'config.expires_at'],
    [{ unique: { key: 'k', while: 'unfinished', on_conflict: 'replace' } }, 'config.unique.on_conflict'],
    [{ unique: { key: 'k', while: 'waiting', max_wait_secs: 9 } }, 'config.unique.max_wait_secs'],
    [{ unique: { key: 'x'.repeat(201), while: 'waiting' } }, 'config.unique.key'],
    [{ limits: [{ key: 'x'.repeat(201), running: 1 }] }, 'config.limits[0].key'],
  ])('refuses %j', async (config, path) => {
    const { status, body } = await stage.call('POST', '/jobs', { task_name: 't', config });
    expect(status).toBe(400);
    expect(body.details[0].path).toBe(path);
  });
});
