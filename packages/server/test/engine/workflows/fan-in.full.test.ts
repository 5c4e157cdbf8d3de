import { describe, expect, it } from 'vitest';
import { expectLegal } from './invariants.js';
import { completeJob, workflowsOf, hand, step } from './kit.js';
import { usePair } from './pair.js';

/** 63: ten parents finish at the same instant, reported to two servers. */
describe('a fan-in of ten', async () => {
  const { database, one, two } = await usePair({ mode: 'api' });
  const workflows = workflowsOf(one.a);
  const remote = hand(one.worker);
  const PARENTS = Array.from({ length: 10 }, (_, n) => `p${n}`);
  const GRAPH = [...PARENTS.map((name) => step(name)), step('join', PARENTS), step('after', ['join'])];
  const WHOLE = Object.fromEntries(
    PARENTS.flatMap((name, n) => [
      [name, { [`from_${name}`]: n }],
      [`from_${name}`, n],
    ]),
  );

  /** All parents of all these workflows at once, half of them here and half of them there. */
  async function finishTogether(ids: readonly string[]): Promise<void> {
    const leased = [];
    for (const id of ids) for (const name of PARENTS) leased.push({ name, ...(await remote.take(id, name)) });
    const replies = await Promise.all(
      leased.map(({ name, job, lease_token: token }, n) =>
        completeJob([one, two][n % 2]!.worker, job.id, token, { [`from_${name}`]: Number(name.slice(1)) }),
      ),
    );
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([204]));
  }

  async function expectOneWholeJoin(id: string): Promise<void> {
    const { job, lease_token: token } = await remote.take(id, 'join');
    expect(job.payload._context).toEqual(WHOLE);
    expect(job.delivery_count).toBe(1);
    const jobs = await database.query(`SELECT id FROM millrace.jobs WHERE workflow_id = $1 AND step = 'join'`, [id]);
    expect(jobs).toEqual([{ id: job.id }]);
    expect((await completeJob(two.worker, job.id, token, { done: true })).status).toBe(204);
    await remote.complete(id, 'after');
    expect(await workflows.get(id)).toMatchObject({ status: 'completed', context: { ...WHOLE, done: true } });
  }

  it('yields one child with the whole context, every time', async () => {
    for (let round = 0; round < 15; round++) {
      const id = await workflows.create(GRAPH);
      await finishTogether([id]);
      await expectOneWholeJoin(id);
    }
    await expectLegal(database, { ended: true });
  });

  it('does so for many workflows in the same batches', async () => {
    for (let round = 0; round < 2; round++) {
      const ids = await Promise.all(Array.from({ length: 15 }, () => workflows.create(GRAPH)));
      await finishTogether(ids);
      for (const id of ids) await expectOneWholeJoin(id);
    }
    await expectLegal(database, { ended: true });
  });

  it('never makes two batches wait for each other in a circle', async () => {
    const graph = Array.from({ length: 20 }, (_, n) => step(`s${n}`));
    const ids = await Promise.all(Array.from({ length: 12 }, () => workflows.create(graph)));
    // Every batch of either server has steps of every workflow, in another order each time.
    const leased = await Promise.all(
      Array.from({ length: 240 }, (_, n) => remote.take(ids[(n * 7) % 12]!, `s${Math.floor(n / 12)}`)),
    );
    await Promise.all(
      leased.map(({ job, lease_token: token }, n) => completeJob([one, two][n % 2]!.worker, job.id, token)),
    );
    for (const id of ids) expect(await workflows.status(id)).toBe('completed');
    const [stats] = await database.query(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(stats).toEqual({ deadlocks: 0 });
  });

  it('joins under every mixture of outcomes', async () => {
    // Twelve rounds are every policy of every parent, with and without a step that skips the join.
    for (let round = 0; round < 12; round++) {
      const policies = ['continue', 'continue', 'skip'];
      const parents = PARENTS.map((name, n) => step(name, [], { on_failure: policies[(n + round) % 3] }));
      const id = await workflows.create([...parents, step('join', PARENTS)]);
      const ends = await Promise.all(
        PARENTS.map(async (name, n) => {
          const { job, lease_token: token } = await remote.take(id, name);
          const { worker } = [one, two][n % 2]!;
          const isSkip = policies[(n + round) % 3] === 'skip';
          // Those that would skip the join complete, except in every fourth round.
          if (isSkip && round % 4 !== 0) return completeJob(worker, job.id, token, { [name]: n });
          if (n % 2) return one.a.post(`/api/v1/jobs/${job.id}/cancel`);
          return worker.post(`/api/v1/jobs/${job.id}/fail`, { lease_token: token, error: 'no', retryable: false });
        }),
      );
      expect(new Set(ends.map((reply) => reply.status))).toEqual(new Set([204]));
      expect(await remote.held(id)).toEqual(round % 4 === 0 ? [] : ['join']);
      if (round % 4 !== 0) await remote.complete(id, 'join');
      expect(await workflows.status(id)).toBe('partially_failed');
    }
    await expectLegal(database, { ended: true });
  });
});
