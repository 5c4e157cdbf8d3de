import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  advance,
  begin,
  buildGraph,
  cancelRun,
  type Advance,
  type Graph,
  type StepOutcome,
} from '../../src/domain/dag.js';
import { chooser, graphs, outcomes } from '../engine/workflows/graphs.js';
import { Model, type Ending, type ModelStep, type Policy } from '../engine/workflows/model.js';
import { cases } from '../support/cases.js';

const SHOWN: Record<string, string> = {
  b: 'unfinished',
  q: 'unfinished',
  c: 'completed',
  f: 'failed',
  x: 'cancelled',
  s: 'skipped',
};

function build(steps: readonly ModelStep[]): Graph {
  const built = buildGraph(steps.map(({ name, dependsOn, policy }) => ({ name, dependsOn, onFailure: policy })));
  if ('problem' in built) throw new Error(built.problem.message);
  return built.graph;
}

const step = (name: string, dependsOn: readonly string[] = [], policy: Policy = 'halt'): ModelStep => ({
  name,
  dependsOn,
  policy,
});

/** Drives a graph through the rules and through the model, and compares them after every batch. */
class Duel {
  readonly graph: Graph;
  readonly model: Model;
  last: Advance;
  readonly enqueued: string[] = [];

  constructor(steps: readonly ModelStep[]) {
    this.graph = build(steps);
    this.model = new Model(steps);
    this.last = begin(this.graph);
    this.#compare([]);
  }

  end(outcomes: readonly Ending[]): void {
    const before = this.model.live();
    this.last = advance(this.graph, this.last.state, outcomes.map(this.#outcome));
    this.model.end(outcomes);
    this.#compare(before);
  }

  cancel(): void {
    const before = this.model.live();
    this.last = cancelRun(this.last.state);
    this.model.cancel();
    this.#compare(before);
  }

  readonly #outcome = ({ name, outcome }: Ending): StepOutcome => ({
    step: this.graph.findIndex((step) => step.name === name),
    outcome,
  });

  #compare(before: readonly string[]): void {
    const { model, last } = this;
    const names = (steps: readonly number[]): string[] => steps.map((index) => this.graph[index]!.name);
    const shown = this.graph.map(({ name }, index) => [name, SHOWN[last.state[index]!]]);
    expect(Object.fromEntries(shown)).toEqual(
      Object.fromEntries(model.names().map((name) => [name, model.statusOf(name)])),
    );
    expect(last.end).toBe(model.status() === 'running' ? null : model.status());
    expect(names(last.enqueue)).toEqual(model.live().filter((name) => !before.includes(name)));
    // Cancelled is what was live, is live no longer and has not ended by itself.
    const stopped = model.status() === 'failed' || model.status() === 'cancelled';
    expect(names(last.cancel).every((name) => stopped && before.includes(name))).toBe(true);
    for (const name of names(last.enqueue)) expect(this.enqueued).not.toContain(name);
    this.enqueued.push(...names(last.enqueue));
    if (last.end !== null) expect(last.state).not.toMatch(/[bq]/);
  }
}

describe('random graphs against the model', () => {
  const RUNS = { numRuns: cases(400) };

  it('agree after every batch of outcomes, in any order and grouping', () => {
    fc.assert(
      fc.property(graphs({ maxSteps: 14 }), fc.gen(), (steps, gen) => {
        const choose = chooser(gen);
        const duel = new Duel(steps);
        while (duel.last.end === null) {
          if (choose.rarely(40)) return duel.cancel();
          const ended = choose.some(duel.model.live()).map((name) => ({ name, outcome: choose.outcome() }));
          // Reports on steps without a live job change nothing, wherever they are in the batch.
          const stray = choose.rarely(4) ? [{ name: choose.one(duel.model.names()), outcome: choose.outcome() }] : [];
          const isStray = ({ name }: Ending): boolean => !duel.model.live().includes(name);
          duel.end([...stray.filter(isStray), ...ended]);
        }
        const { state } = duel.last;
        const late = duel.graph.map((_, index) => ({ step: index, outcome: choose.outcome() }));
        expect(advance(duel.graph, state, late)).toMatchObject({ state, enqueue: [], cancel: [] });
      }),
      RUNS,
    );
  });

  it('end the same way in any order if nothing halts', () => {
    const free = graphs({ maxSteps: 14, policies: ['skip', 'continue'] });
    fc.assert(
      fc.property(free, fc.infiniteStream(outcomes), fc.gen(), fc.gen(), (steps, stream, ...gens) => {
        const fate = new Map(steps.map(({ name }) => [name, stream.next().value]));
        const ends = gens.map((gen) => {
          const choose = chooser(gen);
          const duel = new Duel(steps);
          while (duel.last.end === null) {
            duel.end(choose.some(duel.model.live()).map((name) => ({ name, outcome: fate.get(name)! })));
          }
          return [duel.last.state, duel.last.end];
        });
        expect(ends[0]).toEqual(ends[1]);
      }),
      RUNS,
    );
  });

  it('do not depend on the order within a batch', () => {
    fc.assert(
      fc.property(graphs({ maxSteps: 14 }), fc.gen(), (steps, gen) => {
        const choose = chooser(gen);
        const graph = build(steps);
        const model = new Model(steps);
        let { state } = begin(graph);
        while (model.status() === 'running') {
          const ended = choose.some(model.live()).map((name) => ({ name, outcome: choose.outcome() }));
          const as = ({ name, outcome }: Ending): StepOutcome => ({
            step: graph.findIndex((step) => step.name === name),
            outcome,
          });
          const there = advance(graph, state, ended.map(as));
          const back = advance(graph, state, ended.toReversed().map(as));
          expect(back).toEqual(there);
          model.end(ended);
          ({ state } = there);
        }
      }),
      RUNS,
    );
  });

  it('enqueue each step once, and never before its dependencies are satisfied', () => {
    fc.assert(
      fc.property(graphs({ maxSteps: 14 }), fc.gen(), (steps, gen) => {
        const choose = chooser(gen);
        const duel = new Duel(steps);
        const fate = new Map<string, string>();
        while (duel.last.end === null) {
          const ended = choose.some(duel.model.live()).map((name) => ({ name, outcome: choose.outcome() }));
          for (const { name, outcome } of ended) fate.set(name, outcome);
          duel.end(ended);
          for (const index of duel.last.enqueue) {
            for (const dependency of duel.graph[index]!.dependsOn) {
              const { name, onFailure } = duel.graph[dependency]!;
              expect(fate.get(name) === 'completed' || (fate.has(name) && onFailure === 'continue')).toBe(true);
            }
          }
        }
        expect(new Set(duel.enqueued).size).toBe(duel.enqueued.length);
      }),
      RUNS,
    );
  });
});

describe('the policies', () => {
  const ended = (name: string, outcome: Ending['outcome']): Ending => ({ name, outcome });
  //  a ─ b ─ d
  //    ╲ c ╱   e
  const diamond = (policy: Policy): ModelStep[] => [
    step('a'),
    step('b', ['a'], policy),
    step('c', ['a']),
    step('d', ['b', 'c']),
    step('e'),
  ];

  it.each(['failed', 'cancelled'] as const)('halt stops everything if a step has %s', (outcome) => {
    const duel = new Duel(diamond('halt'));
    duel.end([ended('a', 'completed')]);
    duel.end([ended('b', outcome)]);
    expect(duel.last).toEqual({
      state: `c${outcome === 'failed' ? 'f' : 'x'}xxx`,
      enqueue: [],
      cancel: [2, 4],
      end: 'failed',
    });
  });

  it.each(['failed', 'cancelled'] as const)('skip skips the dependents of a step that has %s', (outcome) => {
    const duel = new Duel(diamond('skip'));
    duel.end([ended('a', 'completed')]);
    duel.end([ended('b', outcome)]);
    expect(duel.last).toMatchObject({ state: `c${outcome === 'failed' ? 'f' : 'x'}qsq`, enqueue: [], cancel: [] });
    duel.end([ended('c', 'completed'), ended('e', 'completed')]);
    expect(duel.last.end).toBe('partially_failed');
  });

  it.each(['failed', 'cancelled'] as const)('continue treats a step that has %s as completed', (outcome) => {
    const duel = new Duel(diamond('continue'));
    duel.end([ended('a', 'completed')]);
    duel.end([ended('b', outcome), ended('c', 'completed')]);
    expect(duel.last.enqueue).toEqual([3]);
    duel.end([ended('d', 'completed'), ended('e', 'completed')]);
    expect(duel.last.end).toBe('partially_failed');
  });

  it('skip reaches past steps whose policy is continue', () => {
    const duel = new Duel([step('a', [], 'skip'), step('b', ['a'], 'continue'), step('c', ['b'])]);
    duel.end([ended('a', 'failed')]);
    expect(duel.last).toEqual({ state: 'fss', enqueue: [], cancel: [], end: 'partially_failed' });
  });

  it('a halt takes precedence over everything else in its batch', () => {
    const duel = new Duel([step('a'), step('b', ['a']), step('c'), step('d', [], 'skip'), step('e', ['d'])]);
    duel.end([ended('a', 'completed'), ended('d', 'failed'), ended('c', 'failed')]);
    expect(duel.last).toEqual({ state: 'cxffx', enqueue: [], cancel: [], end: 'failed' });
  });
});

describe('building a graph', () => {
  const problemOf = (steps: readonly ModelStep[]) => {
    const built = buildGraph(steps.map(({ name, dependsOn, policy }) => ({ name, dependsOn, onFailure: policy })));
    return 'problem' in built ? built.problem : null;
  };

  it('knows dependencies and dependents by their index', () => {
    const graph = build([step('c', ['a', 'b', 'a']), step('a'), step('b', ['a'])]);
    expect(graph.map(({ dependsOn, dependents }) => [dependsOn, dependents])).toEqual([
      [[1, 2], []],
      [[], [0, 2]],
      [[1], [0]],
    ]);
  });

  it('finds a cycle if and only if there is one, and names a real one', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const anyGraph = fc.array(
      fc.record({ name: fc.constantFrom(...names), dependsOn: fc.subarray(names, { maxLength: 2 }) }),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(anyGraph, (drawn) => {
        const named = new Map(drawn.map((step) => [step.name, step]));
        const steps = [...named.values()].map(({ name, dependsOn }) =>
          step(
            name,
            dependsOn.filter((dependency) => named.has(dependency) && dependency !== name),
          ),
        );
        const dependsOn = (name: string): readonly string[] => steps.find((step) => step.name === name)!.dependsOn;
        const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
          dependsOn(from).some((next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))));
        const isCyclic = steps.some(({ name }) => reaches(name, name));
        const problem = problemOf(steps);
        expect(problem !== null).toBe(isCyclic);
        if (problem === null) return;
        const cycle = problem.message.match(/"\w"/g)!.map((name) => name.slice(1, -1));
        expect(cycle.at(-1)).toBe(cycle[0]);
        for (const [n, name] of cycle.slice(0, -1).entries()) expect(dependsOn(cycle[n + 1]!)).toContain(name);
        expect(new Set(cycle).size).toBe(cycle.length - 1);
        expect(steps[problem.step]!.name).toBe(cycle[0]);
      }),
      { numRuns: cases(2000) },
    );
  });

  it('handles a thousand steps', () => {
    const names = Array.from({ length: 1000 }, (_, n) => `n${n}`);
    const line = names.map((name, n) => step(name, n === 0 ? [] : [names[n - 1]!]));
    expect(problemOf(line)).toBeNull();
    const ring = [step('n0', ['n999']), ...line.slice(1)];
    expect(problemOf(ring)!.message.match(/"n\d+"/g)).toHaveLength(1001);
    const everything = names.map((name, n) => step(name, names.slice(0, n)));
    expect(problemOf(everything)).toBeNull();
  });
});
