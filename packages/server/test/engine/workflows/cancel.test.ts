import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { cases } from '../../support/cases.js';
import { expectLegal } from './invariants.js';
import { chain, completeJob, workflowsOf, hand, ok, step, TERMINAL, type Leased } from './kit.js';
import { usePair } from './pair.js';

const { database, one, two } = await usePair({ mode: 'api' });
const { a, worker } = one;
const workflows = workflowsOf(a);
const remote = hand(worker);

describe('cancelling a workflow', () => {
  it('cancels what has not finished, at once', async () => {
    const id = await workflows.create([step('done'), step('running'), step('waiting'), step('next', ['running'])]);
    await remote.complete(id, 'done', { n: 1 });
    const running = await remote.take(id, 'running');
    await workflows.cancel(id);
    expect(await workflows.get(id)).toMatchObject({ status: 'cancelled', context: { n: 1, done: { n: 1 } } });
    expect((await workflows.get(id)).completed_at).not.toBeNull();
    expect(await workflows.statuses(id)).toEqual({
      done: 'completed',
      running: 'cancelled',
      waiting: 'cancelled',
      next: 'cancelled',
    });
    for (const name of ['running', 'waiting']) expect((await workflows.job(id, name)).status).toBe('cancelled');
    expect((await completeJob(worker, running.job.id, running.lease_token)).status).toBe(204);
    expect((await workflows.steps(id)).at(-1)!.job_id).toBeNull();
    const beat = { lease_token: running.lease_token, extend_secs: 9 };
    expect((await worker.post(`/api/v1/jobs/${running.job.id}/heartbeat`, beat)).body).toEqual({ status: 'cancelled' });
    await expectLegal(database);
  });

  it('is possible before anything has started', async () => {
    const id = await workflows.create(chain('x', 'y'));
    await workflows.cancel(id);
    expect(await workflows.get(id)).toMatchObject({ status: 'cancelled', started_at: null });
    expect(await remote.held(id)).toEqual([]);
  });

  it('is possible between two attempts of a step', async () => {
    const id = await workflows.create(chain('x', 'y'));
    await remote.fail(id, 'x', { retryable: true });
    await workflows.cancel(id);
    expect((await workflows.job(id, 'x')).status).toBe('cancelled');
    await expectLegal(database);
  });

  it('makes no dead letters', async () => {
    const [before] = await database.query('SELECT count(*) FROM millrace.dead_letters');
    const id = await workflows.create([step('x'), step('y')]);
    await remote.take(id, 'x');
    await workflows.cancel(id);
    expect(await database.query('SELECT count(*) FROM millrace.dead_letters')).toEqual([before]);
  });

  it('is 409 after the end, and changes nothing', async () => {
    const cancelled = await workflows.create(chain('x'));
    await workflows.cancel(cancelled);
    const completed = await workflows.create(chain('x'));
    await remote.complete(completed, 'x');
    const failed = await workflows.create(chain('x'));
    await remote.fail(failed, 'x');
    for (const id of [cancelled, completed, failed]) {
      const before = await workflows.get(id);
      const reply = await a.post(`/api/v1/workflows/${id}/cancel`);
      expect([reply.status, reply.body.code]).toEqual([409, 'already_finished']);
      expect(await workflows.get(id)).toEqual(before);
    }
  });

  it('takes an empty body of whatever type', async () => {
    for (const headers of [{}, { 'content-type': 'application/json' }]) {
      const id = await workflows.create(chain('x'));
      const reply = await a.send('POST', `/api/v1/workflows/${id}/cancel`, { headers });
      expect([reply.status, reply.text]).toEqual([204, '']);
    }
  });

  it('happens once, however many ask', async () => {
    const id = await workflows.create(Array.from({ length: 20 }, (_, n) => step(`s${n}`)));
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? a : two.a).post(`/api/v1/workflows/${id}/cancel`)),
    );
    expect(replies.map((reply) => reply.status).sort()).toEqual([204, ...Array<number>(19).fill(409)]);
    await expectLegal(database);
  });
});

describe('cancelling while steps end', () => {
  /** Roots a and b, joined by c, then d; and e under skip with f behind it. */
  const GRAPH = [
    step('a'),
    step('b'),
    step('c', ['a', 'b']),
    step('d', ['c']),
    step('e', [], { on_failure: 'skip' }),
    step('f', ['e']),
  ];

  const report = (client: typeof worker, { job, lease_token: token }: Leased, n: number) =>
    n % 3 === 2
      ? client.post(`/api/v1/jobs/${job.id}/fail`, { lease_token: token, error: 'no', retryable: n % 2 === 0 })
      : completeJob(client, job.id, token, { n });

  it('leaves a legal end, whoever comes first', async () => {
    const outcomes = new Set<string>();
    // If one side always won, nothing would have been tried.
    for (let round = 0; round < Math.min(cases(60), 60) || outcomes.size < 2; round++) {
      const id = await workflows.create(GRAPH);
      const roots = await Promise.all(['a', 'b', 'e'].map((name) => remote.take(id, name)));
      // Reports and cancellation start some turns of the event loop apart, so that each gets ahead of the others now
      // and then.
      const later = async <T>(turns: number, act: () => Promise<T>): Promise<T> => {
        for (let n = 0; n < turns; n++) await turn();
        return act();
      };
      const [cancelled] = await Promise.all([
        later((round * 7) % 40, () => (round % 2 ? a : two.a).post(`/api/v1/workflows/${id}/cancel`)),
        ...roots.map((leased, n) =>
          later((round * (n + 3)) % 20, () => report(n % 2 ? worker : two.worker, leased, round + n)),
        ),
        later(round % 30, async () => two.a.post(`/api/v1/jobs/${roots[round % 3]!.job.id}/cancel`)),
      ]);
      const status = await workflows.status(id);
      expect(TERMINAL).toContain(status);
      expect(cancelled.status === 204).toBe(status === 'cancelled');
      expect(await remote.held(id)).toEqual([]);
      outcomes.add(status);
    }
    await expectLegal(database, { ended: true });
  });

  it('finds a job that a worker keeps taking and giving back', async () => {
    const config = { max_retries: 1000, retry_delay_secs: 0 };
    let busy = true;
    let turns = 0;
    const restless = async (client: typeof worker): Promise<void> => {
      while (busy) {
        const reply = await client.post('/api/v1/queues/default/lease', { max_jobs: 20, lease_secs: 3_600 });
        // A slow machine may keep the database from answering in time: a worker asks again.
        if (reply.status === 503) continue;
        const { jobs } = ok(reply).body;
        const reports = (jobs as Leased[]).map(({ job, lease_token: token }) =>
          client.post(`/api/v1/jobs/${job.id}/fail`, { lease_token: token, error: 'again' }),
        );
        turns += (await Promise.all(reports)).length;
      }
    };
    const workers = [restless(worker), restless(two.worker), restless(two.worker)];
    try {
      for (let round = 0; round < Math.min(cases(20), 30); round++) {
        const id = await workflows.create([
          step('x', [], { config }),
          step('y', [], { config, on_failure: 'continue' }),
        ]);
        const before = turns;
        while (turns < before + 4) await turn();
        if (round % 2) await workflows.cancelJob(id, 'y');
        await workflows.cancel(id);
        expect(await workflows.status(id)).toBe('cancelled');
      }
    } finally {
      busy = false;
      await Promise.all(workers);
    }
    await expectLegal(database, { ended: true });
  });
});
