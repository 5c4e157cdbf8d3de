import { describe, expect, it } from 'vitest';
import { inspect } from '../../src/store/migrations/inspect.js';
import { TENANT_A, useTestServer } from '../support/server.js';
import { complete, createJobs, lease, newQueue } from './kit.js';
import { workflowsOf } from './workflows/kit.js';

/** Turns, rates, limits and waits under load: what moves between two tables is never taken for what is wrong. */
const { a, b, worker, admin, database } = await useTestServer({ config: { mode: 'api' } });
const workflows = workflowsOf(a);
const RATED = { limits: [{ key: 'k', rate: { count: 1_000, per_secs: 1, burst: 100 } }] };

describe('a service at work', () => {
  it('shows nothing wrong, whenever somebody looks', async () => {
    const [shared, limited] = [newQueue(), newQueue()];
    const settings = { body: { share: 'tenant' } };
    expect((await admin.send('PUT', `/api/v1/admin/queues/${shared}`, settings)).status).toBe(200);
    let busy = true;
    const worked: string[] = [];
    const work = async (queue: string): Promise<void> => {
      while (busy) {
        const leased = await lease(worker, queue, { max_jobs: 10 });
        for (const each of leased) worked.push((await complete(worker, each)).status.toString());
      }
    };
    const create = async (): Promise<void> => {
      for (let n = 0; busy; n++) {
        await createJobs(n % 2 ? a : b, shared, 5, n % 3 ? {} : RATED);
        await createJobs(a, limited, 5, { limits: [...RATED.limits, { key: `u${n % 3}`, running: 2 }] });
        const id = await workflows.create([{ name: 'w', wait: { signal: 's', timeout_secs: 3_600 } }]);
        await a.post(`/api/v1/workflows/${id}/signals/s`, { value: n });
      }
    };
    const working = Promise.all([work(shared), work(limited), create(), create()]);
    const seen: unknown[] = [];
    for (let looks = 0; looks < 15 || worked.length < 50; looks++) {
      const { checks } = await inspect(database.homeOf(TENANT_A).url);
      seen.push(...checks.filter(({ violations }) => violations > 0));
    }
    busy = false;
    await working;
    expect(seen).toEqual([]);
    expect(new Set(worked)).toEqual(new Set(['204']));
  });
});
