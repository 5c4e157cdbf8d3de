import { describe, expect, it } from 'vitest';
import { RetentionPass } from '../../../src/engine/jobs/retention-pass.js';
import { Database } from '../../../src/store/connection/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { TENANT_A, useTestServer } from '../../support/server.js';
import { chain, hand, ok, workflowsOf } from './kit.js';

describe('retention of a workflow that was resumed', async () => {
  const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });
  const workflows = workflowsOf(a);
  const remote = hand(worker);

  it('removes it with the jobs from before, and nothing while it goes on', async () => {
    const id = await workflows.create(chain('x', 'y'));
    await remote.complete(id, 'x', { text: 'x'.repeat(1_000) });
    await remote.fail(id, 'y');
    const earlier = await workflows.jobId(id, 'y');
    ok(await a.post(`/api/v1/workflows/${id}/resume`, { context: { again: true } }));
    const db = new Database({
      ...{
        url: database.homeOf(TENANT_A).url,
        maxConnections: 3,
        logger: createLogger({ level: 'silent', format: 'json' }),
      },
    });
    const clean = async (): Promise<void> => {
      const pass = new RetentionPass(db, 1e-9);
      while (!pass.isOver) await pass.step();
    };
    await clean();
    expect((await a.get(`/api/v1/jobs/${earlier}`)).status).toBe(200);
    await remote.complete(id, 'y');
    await clean();
    await db.close();
    for (const path of [`workflows/${id}`, `workflows/${id}/steps`, `jobs/${earlier}`]) {
      expect((await a.get(`/api/v1/${path}`)).status).toBe(404);
    }
    const left = await database.query(`
      SELECT (SELECT count(*)::int FROM millrace.jobs) AS jobs, (SELECT count(*)::int FROM millrace.done) AS done,
             (SELECT count(*)::int FROM millrace.workflow_contexts) AS contexts,
             (SELECT count(*)::int FROM millrace.earlier_jobs) AS earlier,
             (SELECT count(*)::int FROM millrace.workflow_resumes) AS resumes`);
    expect(left).toEqual([{ jobs: 0, done: 0, contexts: 0, earlier: 0, resumes: 0 }]);
  });
});
