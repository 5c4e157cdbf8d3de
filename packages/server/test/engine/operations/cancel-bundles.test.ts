import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { getJob, listAll } from '../kit.js';
import { perform } from './operation-kit.js';

describe('a bulk cancellation of jobs that the pool runs', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const { a, database } = await useTestServer({
    config: { mode: 'all', workers: 4 },
    handlers: { wait: async () => (await released, {}) },
  });

  it('takes them out of their bundles', async () => {
    const jobs = Array.from({ length: 4 }, () => ({ task_name: 'wait', payload: {} }));
    const ids = (await a.post('/api/v1/jobs/batch', { jobs })).body.job_ids as string[];
    await until(async () => {
      const running = await listAll(a, 'status=running');
      return running.length === ids.length ? true : `${running.length} are running`;
    });
    const [row] = await database.query<{ n: number }>('SELECT count(*)::int AS n FROM millrace.bundles');
    expect(row!.n).toBeGreaterThan(0);
    const operation = await perform(a, { action: 'cancel_jobs', filter: { status: 'running' } });
    expect(operation).toMatchObject({ matched: { n: 4, exact: true }, changed: 4, skipped: 0 });
    release();
    const after = await Promise.all(ids.map((id) => getJob(a, id)));
    expect(after.map(({ status }) => status)).toEqual(ids.map(() => 'cancelled'));
    const attempts = await Promise.all(ids.map((id) => a.get(`/api/v1/jobs/${id}/attempts`)));
    for (const { body } of attempts) expect(body.attempts).toMatchObject([{ outcome: 'cancelled' }]);
  });
});
