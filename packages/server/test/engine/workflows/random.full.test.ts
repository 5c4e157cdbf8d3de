import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooser, graphs } from './graphs.js';
import { expectLegal } from './invariants.js';
import { completeJob, hand, ok, workflowsOf, step, type Hand } from './kit.js';
import { Model, type ModelStep } from './model.js';
import { usePair } from './pair.js';
import { cases } from '../../support/cases.js';

/** Random graphs through the whole service, held against the same model as the rules alone. */
describe('random graphs', async () => {
  const { database, one, two } = await usePair({ mode: 'api' });
  const workflows = workflowsOf(one.a);
  const theirs = workflowsOf(two.a);
  const remotes = [hand(one.worker), hand(two.worker)];
  const RUNS = { numRuns: cases(40), endOnFailure: true };

  interface Holding {
    readonly taker: Hand;
    readonly context: Readonly<Record<string, unknown>>;
  }

  /** Numbers that do not compress well, so many of them. */
  const LENGTHS = [0, 3, 40, 1_000].map((count) => Array.from({ length: count }, () => Math.random()));
  const failJob = (worker: typeof one.worker, id: string, token: string) =>
    worker.post(`/api/v1/jobs/${id}/fail`, { lease_token: token, error: 'it broke', retryable: false });

  const create = (steps: readonly ModelStep[]): Promise<string> =>
    workflows.create(steps.map(({ name, dependsOn, policy }) => step(name, dependsOn, { on_failure: policy })));

  async function expectAgreement(id: string, model: Model): Promise<void> {
    const shown = await workflows.statuses(id);
    const expected = Object.fromEntries(model.names().map((name) => [name, model.statusOf(name)]));
    const unfinished = (status: string): string =>
      status === 'pending' || status === 'running' ? 'unfinished' : status;
    expect(Object.fromEntries(Object.entries(shown).map(([name, status]) => [name, unfinished(status)]))).toEqual(
      expected,
    );
    const status = await workflows.status(id);
    expect(status === 'created' ? 'running' : status).toBe(model.status());
  }

  it('go the way of the model, one ending after the other', async () => {
    await fc.assert(
      fc.asyncProperty(graphs({ maxSteps: 8 }), fc.gen(), async (steps, gen) => {
        const choose = chooser(gen);
        const model = new Model(steps);
        const id = await create(steps);
        const held = new Map<string, Holding>();
        const everHeld: string[] = [];
        const context: Record<string, unknown> = {};
        while (model.status() === 'running') {
          const taker = choose.one(remotes);
          for (const name of await taker.held(id)) {
            if (held.has(name)) continue;
            // It became ready by what happened last, and receives the context of that moment, whenever it is looked at.
            held.set(name, { taker, context: { ...context } });
            everHeld.push(name);
          }
          expect([...held.keys()].sort()).toEqual(model.live().sort());
          if (choose.rarely(25)) {
            await theirs.cancel(id);
            model.cancel();
            break;
          }
          const name = choose.one([...held.keys()]);
          const outcome = choose.outcome();
          const holding = held.get(name)!;
          held.delete(name);
          const { job, lease_token: token } = await holding.taker.take(id, name);
          expect(job.payload._context).toEqual(holding.context);
          // Of lengths that are copied into payloads, stored apart, and left behind until they are needed.
          const result = { last: name, text: choose.one(LENGTHS).map(String).join('') };
          if (outcome === 'completed') ok(await completeJob(choose.one([one, two]).worker, job.id, token, result));
          else if (outcome === 'failed') ok(await failJob(one.worker, job.id, token));
          else await theirs.cancelJob(id, name);
          if (outcome === 'completed') Object.assign(context, { ...result, [name]: result });
          model.end([{ name, outcome }]);
          await expectAgreement(id, model);
          expect((await workflows.get(id)).context).toEqual(context);
        }
        expect(new Set(everHeld).size).toBe(everHeld.length);
        await expectAgreement(id, model);
      }),
      RUNS,
    );
    await expectLegal(database, { ended: true });
  });

  it('come to the one end that the model has for them, all outcomes at once, where nothing halts', async () => {
    await fc.assert(
      fc.asyncProperty(graphs({ maxSteps: 10, policies: ['skip', 'continue'] }), fc.gen(), async (steps, gen) => {
        const choose = chooser(gen);
        const model = new Model(steps);
        const id = await create(steps);
        while (model.status() === 'running') {
          const live = await remotes[0]!.held(id);
          expect(live.sort()).toEqual(model.live().sort());
          const outcomes = live.map((name) => ({ name, outcome: choose.outcome() }));
          const leased = await Promise.all(outcomes.map(({ name }) => remotes[0]!.take(id, name)));
          const replies = await Promise.all(
            outcomes.map(({ outcome }, n) => {
              const { job, lease_token } = leased[n]!;
              const { a, worker } = n % 2 ? one : two;
              if (outcome === 'cancelled') return a.post(`/api/v1/jobs/${job.id}/cancel`);
              const body = { lease_token, error: 'no', retryable: false, result: { n } };
              return worker.post(`/api/v1/jobs/${job.id}/${outcome === 'failed' ? 'fail' : 'complete'}`, body);
            }),
          );
          expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([204]));
          model.end(outcomes);
          await expectAgreement(id, model);
        }
      }),
      RUNS,
    );
    await expectLegal(database, { ended: true });
  });
});
