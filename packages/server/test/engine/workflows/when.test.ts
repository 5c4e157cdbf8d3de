import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { hand, ok, step, TERMINAL, workflowsOf } from './kit.js';

/** Steps that decide whether they run. Remote workers: the test decides how each job ends. */
const { a, worker } = await useTestServer({ config: { mode: 'api' } });
const workflows = workflowsOf(a);
const remote = hand(worker);

const at = (stepName: string, path: string[], comparison: object) => ({
  when: { ref: { $step: stepName, path }, ...comparison },
});
const skippedBy = async (id: string): Promise<Record<string, unknown>> =>
  Object.fromEntries((await workflows.steps(id)).map((each: any) => [each.name, each.skipped_by]));
const refused = async (steps: object[]): Promise<any> => {
  const { status, body } = await a.post('/api/v1/workflows', { name: 'refused', steps });
  expect(status, JSON.stringify(body)).toBe(400);
  return body.details[0];
};

describe('a step with a condition', () => {
  it('runs if it holds; otherwise it is skipped, with what is behind it', async () => {
    const id = await workflows.create([
      step('charge'),
      step('euro', ['charge'], at('charge', ['money', 'currency'], { is: 'EUR' })),
      step('other', ['charge'], at('charge', ['money', 'currency'], { is_not: 'EUR' })),
      step('known', ['charge'], at('charge', ['money', 'currency'], { in: ['CHF', 'EUR'] })),
      step('mail', ['other']),
      step('last', ['mail', 'known']),
    ]);
    await remote.complete(id, 'charge', { money: { currency: 'EUR' } });
    expect((await remote.held(id)).sort()).toEqual(['euro', 'known']);
    const behind = { other: 'skipped', mail: 'skipped', last: 'skipped' };
    expect(await workflows.statuses(id)).toMatchObject(behind);
    expect(await skippedBy(id)).toEqual({
      ...{ charge: null, euro: null, known: null },
      ...{ other: 'condition', mail: 'condition', last: 'condition' },
    });
    await remote.complete(id, 'euro');
    await remote.complete(id, 'known');
    expect(await workflows.status(id)).toBe('completed');
    expect((await workflows.steps(id)).filter(({ job_id: job }) => job === null)).toHaveLength(3);
  });

  it('with otherwise continue: what is behind it runs as if it had completed', async () => {
    const id = await workflows.create([
      step('a'),
      step('b', ['a'], { when: { ref: { $step: 'a', path: ['go'] }, is: true, otherwise: 'continue' } }),
      step('c', ['b']),
      step('d', ['c'], at('b', ['n'], { is: null })),
    ]);
    await remote.complete(id, 'a', { go: false });
    expect(await remote.held(id)).toEqual(['c']);
    expect(await workflows.statuses(id)).toMatchObject({ b: 'skipped', c: expect.not.stringMatching('skipped') });
    await remote.complete(id, 'c');
    // A step that did not run has no result: what a condition finds there is null.
    await remote.complete(id, 'd');
    expect(await workflows.status(id)).toBe('completed');
    expect((await workflows.get(id)).context).not.toHaveProperty('b');
  });

  it('is judged when its turn comes, against the context as it is then', async () => {
    const id = await workflows.create({
      name: 'test',
      context: { mode: 'slow' },
      steps: [
        step('a'),
        step('b', ['a'], { when: { ref: { path: ['mode'] }, is: 'fast' } }),
        step('root', [], { when: { ref: { path: ['mode'] }, is: 'slow' } }),
        step('never', [], { when: { ref: { path: ['mode'] }, is: 'fast' } }),
      ],
    });
    expect((await remote.held(id)).sort()).toEqual(['a', 'root']);
    expect(await workflows.statuses(id)).toMatchObject({ never: 'skipped' });
    // What a step returns becomes part of the context.
    await remote.complete(id, 'a', { mode: 'fast' });
    expect(await remote.held(id)).toContain('b');
  });

  it('may leave nothing to do at all, and the workflow has ended when it is created', async () => {
    const never = { when: { ref: { path: ['nothing'] }, is_not: null } };
    const id = await workflows.create([step('a', [], never), step('b', ['a'])]);
    expect(await workflows.get(id)).toMatchObject({ status: 'completed' });
    expect(await workflows.statuses(id)).toEqual({ a: 'skipped', b: 'skipped' });
  });

  it('compares numbers by value, and nothing with what is no scalar', async () => {
    const same = at('a', ['n'], { is: 1 });
    const id = await workflows.create([
      step('a'),
      step('value', ['a'], same),
      step('text', ['a'], at('a', ['n'], { is: '1' })),
      step('object', ['a'], at('a', ['o'], { in: [null, '', 0] })),
      step('missing', ['a'], at('a', ['o', 'p', 'q'], { is: null })),
      step('large', ['a'], at('a', ['large'], { is_not: 9007199254740992 })),
    ]);
    await remote.complete(id, 'a', '{"n":10e-1,"o":{"p":[]},"large":9007199254740993}');
    expect((await remote.held(id)).sort()).toEqual(['large', 'missing', 'value']);
  });

  it('knows a skip by a condition from one by a failure', async () => {
    const id = await workflows.create([
      step('a', [], { on_failure: 'skip' }),
      step('b', ['a']),
      step('c'),
      step('d', ['c'], at('c', ['go'], { is: true })),
    ]);
    await remote.fail(id, 'a');
    await remote.complete(id, 'c');
    expect(await skippedBy(id)).toEqual({ a: null, b: 'failure', c: null, d: 'condition' });
    expect(await workflows.status(id)).toBe('partially_failed');
  });

  it('is judged anew when the workflow is resumed', async () => {
    const id = await workflows.create([
      step('a'),
      step('b', ['a'], at('a', ['go'], { is: true })),
      step('c', ['a'], { on_failure: 'continue' }),
    ]);
    await remote.complete(id, 'a', { go: false });
    await remote.fail(id, 'c');
    expect(await workflows.status(id)).toBe('partially_failed');
    ok(await a.post(`/api/v1/workflows/${id}/resume`, { steps: ['a'] }));
    await remote.complete(id, 'a', { go: true });
    expect((await remote.held(id)).sort()).toEqual(['b', 'c']);
    expect(await skippedBy(id)).toEqual({ a: null, b: null, c: null });
  });

  it('is left out of a cancelled or halted workflow like any other', async () => {
    const id = await workflows.create([step('a'), step('b', ['a'], at('a', ['go'], { is: true }))]);
    await workflows.cancel(id);
    expect(await workflows.statuses(id)).toEqual({ a: 'cancelled', b: 'cancelled' });
    expect(TERMINAL).toContain(await workflows.status(id));
  });
});

describe('a condition is refused', () => {
  const ref = { path: ['x'] };
  it.each<[object | null, string]>([
    [{ ref, is: 1, in: [1] }, 'steps[1].when'],
    [{ ref }, 'steps[1].when'],
    [{ ref: {}, is: 1 }, 'steps[1].when.ref'],
    [{ is: 1 }, 'steps[1].when.ref'],
    [{ ref: { $step: 'b' }, is: 1 }, 'steps[1].when.ref.$step'],
    [{ ref: { $step: 'nobody' }, is: 1 }, 'steps[1].when.ref.$step'],
    [{ ref, is: {} }, 'steps[1].when.is'],
    [{ ref, in: [] }, 'steps[1].when.in'],
    [{ ref, is: 1, otherwise: 'run' }, 'steps[1].when.otherwise'],
    [{ ref: { path: Array.from({ length: 11 }, () => 'x') }, is: 1 }, 'steps[1].when.ref.path'],
    [{ ref, is: 'x'.repeat(1_001) }, 'steps[1].when.is'],
  ])('%j', async (when, path) => {
    expect((await refused([step('a'), step('b', ['a'], { when })])).path).toBe(path);
  });

  it('if the step it looks at does not come before', async () => {
    const steps = [step('a'), step('b'), step('c', ['a'], { when: { ref: { $step: 'b' }, is: null } })];
    expect((await refused(steps)).path).toBe('steps[2].when.ref.$step');
  });
});
