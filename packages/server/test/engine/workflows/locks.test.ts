import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { TENANT_A, useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { chain, completeJob, workflowsOf, hand, ok, step, type Leased } from './kit.js';

/** Connections to this database that wait for the one that holds the lock. */
const WAITING = `
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND $1 = ANY (pg_blocking_pids(pid))`;

describe('a workflow that somebody has locked', async () => {
  const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });
  const workflows = workflowsOf(a);
  const remote = hand(worker);

  /** Holds the lock that every ending takes, while `body` runs. */
  async function holding<T>(id: string, body: (holder: number) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: database.homeOf(TENANT_A).url });
    await client.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT FROM millrace.workflow_runs WHERE id = $1 FOR UPDATE', [id]);
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      return await body(rows[0]!.pid);
    } finally {
      await client.end();
    }
  }

  it('has its steps claimed all the same', async () => {
    const id = await workflows.create(chain('x', 'y'));
    const other = await workflows.create(chain('x'));
    const leased = await holding(id, async (holder) => {
      let taken: Leased | undefined;
      const taking = remote.take(id, 'x').then((each) => (taken = each));
      // Until the claim is answered, or is seen to wait.
      await until(async () => taken !== undefined || (await database.query(WAITING, [holder])).length > 0);
      expect(taken).toBeDefined();
      return taking;
    });
    expect(leased.job.status).toBe('running');
    expect(await workflows.status(id)).toBe('created');
    expect(await workflows.status(other)).toBe('running');
    ok(await completeJob(worker, leased.job.id, leased.lease_token));
    expect(await workflows.get(id)).toMatchObject({ status: 'running', started_at: expect.any(String) });
  });

  it('has started when it ends, whether or not that could be marked in time', async () => {
    for (const end of ['complete', 'fail'] as const) {
      const id = await workflows.create(chain('x'));
      const { job, lease_token } = await holding(id, () => remote.take(id, 'x'));
      expect((await workflows.get(id)).started_at).toBeNull();
      ok(await worker.post(`/api/v1/jobs/${job.id}/${end}`, { lease_token, error: 'no', retryable: false }));
      const ended = await workflows.get(id);
      expect(ended.started_at).toBe(ended.completed_at);
    }
  });

  it('shows its steps and itself meanwhile', async () => {
    const id = await workflows.create([step('x'), step('y')]);
    await remote.complete(id, 'x', { n: 1 });
    await holding(id, async () => {
      expect(await workflows.statuses(id)).toEqual({ x: 'completed', y: 'running' });
      expect((await workflows.get(id)).context).toEqual({ n: 1, x: { n: 1 } });
    });
  });
});
