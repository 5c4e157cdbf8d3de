import { SERIES_TENANTS_SHOWN, type AdminSeries } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { mergedPlots, plotOf } from '../../../src/domain/ends-by-tenant.js';
import { startTestServer, useTestServer, type TestServer } from '../../support/server.js';
import { complete, createJob, fail, inSeconds, lease, newQueue } from '../kit.js';

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

/** Who is named, in this order, with how many ends. */
const shares = ({ tenants }: AdminSeries): [string, number][] =>
  tenants.map(({ tenant_id, ended }) => [tenant_id, sum(ended)]);

describe('the plot of whose jobs ended', async () => {
  const asked = await useTestServer({ config: { mode: 'api' } });

  const plot = async (query = ''): Promise<AdminSeries> => {
    const reply = await asked.admin.get(`/api/v1/admin/series${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body as AdminSeries;
  };

  /** On another server, which writes what it did when it stops. */
  async function elsewhere(work: (server: TestServer) => Promise<void>): Promise<void> {
    const server = await startTestServer({ config: { mode: 'api' }, database: asked.database });
    await work(server);
    await server.stop();
  }

  it('names tenants by how much ended for them, of one queue or of all', async () => {
    const [one, two] = [newQueue(), newQueue()];
    await elsewhere(async ({ a, b, worker }) => {
      for (let n = 0; n < 3; n++) await createJob(a, one);
      await createJob(b, one);
      for (let n = 0; n < 4; n++) await createJob(b, two);
      const jobs = [...(await lease(worker, one, { max_jobs: 10 })), ...(await lease(worker, two, { max_jobs: 10 }))];
      for (const [index, job] of jobs.entries()) {
        if (index === 0) await fail(worker, job, { retryable: false });
        else await complete(worker, job);
      }
    });
    expect(shares(await plot(`?queue=${one}`))).toEqual([
      ['tenant-a', 3],
      ['tenant-b', 1],
    ]);
    expect(shares(await plot())).toEqual([
      ['tenant-b', 5],
      ['tenant-a', 3],
    ]);
    const answer = await plot();
    expect(answer).toMatchObject({ step_secs: 300, counted_from: null });
    for (const { ended } of answer.tenants) expect(ended).toHaveLength(answer.others.length);
    expect(sum(answer.others)).toBe(0);
  });

  it('adds up what is left when more tenants had jobs than it names', async () => {
    const queue = newQueue();
    const keys = Array.from(
      { length: SERIES_TENANTS_SHOWN + 2 },
      (_, n) => [`key-of-${n}-0123456789`, `t-${n}`] as const,
    );
    const apiKeys = new Map(keys);
    const many = await startTestServer({ config: { mode: 'api', apiKeys }, database: asked.database });
    for (const [index, [key]] of keys.entries()) {
      for (let n = 0; n <= index; n++) await createJob(many.as(key), queue);
    }
    for (let jobs = await lease(many.worker, queue, { max_jobs: 100 }); jobs.length > 0;) {
      for (const job of jobs) await complete(many.worker, job);
      jobs = await lease(many.worker, queue, { max_jobs: 100 });
    }
    await many.stop();
    const answer = await plot(`?queue=${queue}`);
    const largest = keys.map(([, tenant], index) => [tenant, index + 1]).reverse();
    expect(shares(answer)).toEqual(largest.slice(0, SERIES_TENANTS_SHOWN));
    expect(sum(answer.others)).toBe(1 + 2);
  });

  it('has coarser steps the further it goes back, and refuses what makes no sense', async () => {
    expect((await plot(`?from=${inSeconds(-86_400)}`)).step_secs).toBe(300);
    expect((await plot(`?from=${inSeconds(-30 * 86_400)}`)).step_secs).toBe(3_600);
    const wrong = await asked.admin.get(`/api/v1/admin/series?from=${inSeconds(0)}&to=${inSeconds(-60)}`);
    expect(wrong.status).toBe(400);
    expect((await asked.a.get('/api/v1/admin/series')).status).toBe(403);
    expect((await asked.worker.get('/api/v1/admin/series')).status).toBe(403);
  });
});

describe('plots of several cells', () => {
  const plotFrom = (first: number, tenant: string, n: number): ReturnType<typeof plotOf> =>
    plotOf({ first, step: 300, until: first + 600 }, [[tenant, first + 300, n]], null);

  it('become one, step by step, even if their clocks disagree by a step', () => {
    const merged = mergedPlots([plotFrom(3_000, 'a', 2), plotFrom(3_300, 'b', 7)]);
    expect(merged.from).toBe('1970-01-01T00:50:00.000Z');
    expect(merged.tenants).toEqual([
      { tenant_id: 'b', ended: [0, 0, 7] },
      { tenant_id: 'a', ended: [0, 2, 0] },
    ]);
    expect(merged.others).toEqual([0, 0, 0]);
  });

  it('name the largest of all, and add up the others', () => {
    const plots = Array.from({ length: SERIES_TENANTS_SHOWN + 1 }, (_, n) => plotFrom(3_000, `t${n}`, n + 1));
    const merged = mergedPlots(plots);
    expect(merged.tenants.map(({ tenant_id }) => tenant_id)).not.toContain('t0');
    expect(merged.tenants).toHaveLength(SERIES_TENANTS_SHOWN);
    expect(merged.others).toEqual([0, 1]);
  });
});
