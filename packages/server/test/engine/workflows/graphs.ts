import fc from 'fast-check';
import type { ModelStep, Outcome, Policy } from './model.js';

/** Random graphs without cycles, declared in an order that has nothing to do with the order in which they can run. */
export interface GraphShape {
  readonly maxSteps: number;
  readonly policies?: readonly Policy[];
}

export function graphs({
  maxSteps,
  policies = ['halt', 'skip', 'continue'],
}: GraphShape): fc.Arbitrary<readonly ModelStep[]> {
  return fc.integer({ min: 1, max: maxSteps }).chain((count) => {
    const places = Array.from({ length: count }, (_, n) => n);
    return fc
      .record({
        // Which of the earlier steps each depends on; a few of them, so that graphs are wide as often as they are deep.
        edges: fc.tuple(...places.map((n) => fc.subarray(places.slice(0, n), { maxLength: Math.min(n, 3) }))),
        policies: fc.tuple(...places.map(() => fc.constantFrom(...policies))),
        declared: fc.shuffledSubarray(places, { minLength: count }),
      })
      .map(({ edges, policies: chosen, declared }) =>
        declared.map((n) => ({
          name: `n${n}`,
          dependsOn: edges[n]!.map((dependency) => `n${dependency}`),
          policy: chosen[n]!,
        })),
      );
  });
}

export const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Outcome>('completed') },
  { weight: 1, arbitrary: fc.constant<Outcome>('failed') },
  { weight: 1, arbitrary: fc.constant<Outcome>('cancelled') },
);

/** Takes some members of a list, at least one, and says which: a source of choices that a failing run repeats. */
export interface Chooser {
  some<T>(list: readonly T[]): T[];
  one<T>(list: readonly T[]): T;
  outcome(): Outcome;
  /** True once in `n` times or so. */
  rarely(n: number): boolean;
}

export function chooser(gen: fc.GeneratorValue): Chooser {
  return {
    some: (list) => gen(fc.shuffledSubarray, [...list], { minLength: 1 }),
    one: (list) => list[gen(fc.nat, { max: list.length - 1 })]!,
    outcome: () => gen(() => outcomes),
    rarely: (n) => gen(fc.nat, { max: n - 1 }) === 0,
  };
}
