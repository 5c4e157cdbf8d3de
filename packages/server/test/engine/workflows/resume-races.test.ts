import { describe, expect, it } from 'vitest';
import { Database } from '../../../src/store/connection/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { RetentionPass } from '../../../src/engine/jobs/retention-pass.js';
import { blockEndOf } from '../blocking.js';
import { completeJob, chain, hand, step, workflowsOf } from './kit.js';
import { expectLegal } from './invariants.js';
import { usePair } from './pair.js';
import { ENDLESS, TENANT_A } from '../../support/server.js';

/** A resume against everything that could happen to the same workflow at the same moment: one of the two wins. */
const { one, two, database } = await usePair({ mode: 'api' });
const workflows = workflowsOf(one.a);
const remote = hand(one.worker);
const ROUNDS = 8;
const SILENT = { level: 'silent', format: 'json' } as const;

const resumeOn = async (server: typeof one, id: string): Promise<number> =>
  (await server.a.post(`/api/v1/workflows/${id}/resume`, {})).status;

async function failed(): Promise<string> {
  const id = await workflows.create([step('a'), step('b', ['a']), step('c', ['a'])]);
  await remote.complete(id, 'a', { n: 1 });
  await remote.fail(id, 'b');
  return id;
}

/** Jobs of steps that have not ended. */
const live = async (id: string): Promise<string[]> =>
  (
    await database.query<{ step: string }>(
      `SELECT j.step FROM millrace.jobs j JOIN millrace.job_records r ON r.tenant = j.tenant AND r.id = j.id
       WHERE j.workflow_id = $1 AND r.status IN ('pending', 'running', 'retrying') ORDER BY j.step`,
      [id],
    )
  ).map((row) => row.step);

describe('a resume and', () => {
  it('a second resume: one goes on, one is refused, and each step has one job', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await failed();
      const statuses = await Promise.all([resumeOn(one, id), resumeOn(two, id)]);
      expect(statuses.sort()).toEqual([202, 409]);
      expect(await live(id)).toEqual(['b', 'c']);
    }
    await expectLegal(database);
  });

  it('the cancellation of the workflow: it goes on or not, and nothing is live if it does not', async () => {
    const ends = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const id = await failed();
      const [resumed, cancelled] = await Promise.all([
        resumeOn(one, id),
        two.a.post(`/api/v1/workflows/${id}/cancel`).then((reply) => reply.status),
      ]);
      expect(resumed).toBe(202);
      expect(await workflows.status(id)).toBe(cancelled === 204 ? 'cancelled' : 'running');
      expect(await live(id)).toEqual(cancelled === 204 ? [] : ['b', 'c']);
      ends.add(String(cancelled));
    }
    expect([...ends].every((status) => ['204', '409'].includes(status))).toBe(true);
    await expectLegal(database);
  });

  it('the cancellation of a job: the new job of the step is not taken for the old one', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await workflows.create(chain('a', 'b'));
      const job = await workflows.jobId(id, 'a');
      const [cancelled, again] = await Promise.all([
        one.a.post(`/api/v1/jobs/${job}/cancel`).then((reply) => reply.status),
        two.a.post(`/api/v1/workflows/${id}/cancel`).then(() => resumeOn(two, id)),
      ]);
      expect([204, 409]).toContain(cancelled);
      expect([202, 409]).toContain(again);
      if (again === 202) expect(await live(id)).toEqual(['a']);
    }
    await expectLegal(database);
  });

  it('a late report of the job from before: it changes nothing', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await workflows.create(chain('a', 'b'));
      const { job, lease_token: token } = await remote.take(id, 'a');
      await workflows.cancel(id);
      const [resumed] = await Promise.all([resumeOn(one, id), completeJob(two.worker, job.id, token, { late: true })]);
      expect(resumed).toBe(202);
      expect(await workflows.get(id)).toMatchObject({ status: 'running', context: {} });
      expect(await live(id)).toEqual(['a']);
    }
    await expectLegal(database);
  });

  it.each(['resume', 'retention'] as const)('retention, %s first: one of them takes everything', async (first) => {
    const { url } = database.homeOf(TENANT_A);
    const db = new Database({ url, maxConnections: 3, logger: createLogger(SILENT), deadlines: ENDLESS });
    const id = await failed();
    const pass = new RetentionPass(db, 1e-9);
    const retain = async (): Promise<void> => {
      while (!pass.isOver) await pass.step();
    };
    const act = { resume: () => resumeOn(one, id), retention: retain };
    const block = await blockEndOf(database, id);
    const leading = act[first]();
    await block.held(1);
    const following = act[first === 'resume' ? 'retention' : 'resume']();
    await block.held(2);
    await block.release();
    const status = Number((await Promise.all([leading, following])).find((each) => typeof each === 'number'));
    await db.close();
    const [left] = await database.query<{ jobs: number; rows: number }>(
      `SELECT (SELECT count(*)::int FROM millrace.jobs WHERE workflow_id = $1) AS jobs,
              (SELECT count(*)::int FROM millrace.workflows WHERE id = $1)
              + (SELECT count(*)::int FROM millrace.workflow_resumes WHERE workflow_id = $1) AS rows`,
      [id],
    );
    if (first === 'retention') {
      expect(status).toBe(409);
      expect(left).toEqual({ jobs: 0, rows: 0 });
      expect(await resumeOn(one, id)).toBe(404);
    } else {
      expect(status).toBe(202);
      expect(left).toEqual({ jobs: 5, rows: 2 });
      await remote.complete(id, 'b');
      await remote.complete(id, 'c');
      expect(await workflows.status(id)).toBe('completed');
    }
    await expectLegal(database);
  });
});
