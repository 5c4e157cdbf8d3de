import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../support/cases.js';
import { expectLegal } from './invariants.js';
import { graphs } from './graphs.js';
import { hand, step, workflowsOf } from './kit.js';
import type { ModelStep } from './model.js';
import { usePair } from './pair.js';

/** Random graphs with conditions through the whole service, held against the words of the specification. */
const { database, one, two } = await usePair({ mode: 'api' });
const workflows = workflowsOf(one.a);
const remotes = [hand(one.worker), hand(two.worker)] as const;

interface Ruled extends ModelStep {
  /** It runs if this step, on which it depends, has returned true; null: it has no condition. */
  readonly asks: string | null;
  readonly otherwise: 'skip' | 'continue';
  /** What it returns. */
  readonly says: boolean;
}

const ruled: fc.Arbitrary<readonly Ruled[]> = graphs({ maxSteps: 9, policies: ['halt'] }).chain((steps) =>
  fc
    .array(
      fc.record({ asks: fc.option(fc.nat()), otherwise: fc.constantFrom('skip', 'continue'), says: fc.boolean() }),
      { minLength: steps.length, maxLength: steps.length },
    )
    .map((rules) =>
      steps.map((each, n): Ruled => {
        const { asks, otherwise, says } = rules[n]!;
        const { dependsOn } = each;
        const asked = asks === null || dependsOn.length === 0 ? null : dependsOn[asks % dependsOn.length]!;
        return { ...each, asks: asked, otherwise, says };
      }),
    ),
);

type End = 'completed' | 'skipped';

/** How each step ends: by recursion from its dependencies, with nothing kept of the order in which things happen. */
function ends(steps: readonly Ruled[]): Record<string, End> {
  const named = new Map(steps.map((each) => [each.name, each]));
  /** Whether what is behind it goes on, and whether it ran. */
  const fate = (name: string): { readonly ran: boolean; readonly passes: boolean } => {
    const { dependsOn, asks, otherwise } = named.get(name)!;
    if (!dependsOn.every((each) => fate(each).passes)) return { ran: false, passes: false };
    const holds = asks === null || (fate(asks).ran && named.get(asks)!.says);
    return holds ? { ran: true, passes: true } : { ran: false, passes: otherwise === 'continue' };
  };
  return Object.fromEntries(steps.map(({ name }) => [name, fate(name).ran ? 'completed' : 'skipped']));
}

const sent = ({ name, dependsOn, asks, otherwise }: Ruled): object =>
  step(name, dependsOn, {
    ...(asks !== null && { when: { ref: { $step: asks, path: ['says'] }, is: true, otherwise } }),
  });

describe('random graphs with conditions', () => {
  it('end as the rules say, in whatever order their steps end', async () => {
    await fc.assert(
      fc.asyncProperty(ruled, fc.infiniteStream(fc.nat()), async (steps, choices) => {
        const choose = <T>(list: readonly T[]): T => list[(choices.next().value as number) % list.length]!;
        const expected = ends(steps);
        const id = await workflows.create(steps.map(sent));
        const ran: string[] = [];
        for (;;) {
          const held = await Promise.all(remotes.map((remote) => remote.held(id)));
          const live = held.flatMap((names, which) => names.map((name) => ({ name, remote: remotes[which]! })));
          if (live.length === 0) break;
          const { name, remote } = choose(live);
          ran.push(name);
          await remote.complete(id, name, { says: steps.find((each) => each.name === name)!.says });
        }
        expect(await workflows.statuses(id)).toEqual(expected);
        expect(ran.sort()).toEqual(
          Object.keys(expected)
            .filter((name) => expected[name] === 'completed')
            .sort(),
        );
        expect(await workflows.status(id)).toBe('completed');
        const skipped = (await workflows.steps(id)).filter(({ status }) => status === 'skipped') as any[];
        expect(skipped.map((each) => [each.skipped_by, each.job_id])).toEqual(skipped.map(() => ['condition', null]));
      }),
      { numRuns: cases(40), endOnFailure: true },
    );
    await expectLegal(database, { ended: true });
  });
});
