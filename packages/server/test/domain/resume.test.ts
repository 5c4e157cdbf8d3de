import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advance, begin, buildGraph, cancelRun, type Graph } from '../../src/domain/dag.js';
import { restart, resumeRun } from '../../src/domain/resume.js';
import { chooser, graphs, type Chooser } from '../engine/workflows/graphs.js';
import { Model, type ModelStep, type Policy } from '../engine/workflows/model.js';
import { cases } from '../support/cases.js';

const SHOWN: Record<string, string> = {
  ...{ b: 'unfinished', q: 'unfinished', c: 'completed', f: 'failed', x: 'cancelled', s: 'skipped' },
};

function build(steps: readonly ModelStep[]): Graph {
  const built = buildGraph(steps.map(({ name, dependsOn, policy }) => ({ name, dependsOn, onFailure: policy })));
  if ('problem' in built) throw new Error(built.problem.message);
  return built.graph;
}

/** A workflow by the rules and by the model, which must agree after everything that happens to it. */
class Life {
  readonly graph: Graph;
  readonly model: Model;
  state: string;

  constructor(steps: readonly ModelStep[]) {
    this.graph = build(steps);
    this.model = new Model(steps);
    this.state = begin(this.graph).state;
  }

  /** To its end, one way or another. */
  run(choose: Chooser): void {
    while (this.model.status() === 'running') {
      if (choose.rarely(30)) {
        this.state = cancelRun(this.state).state;
        this.model.cancel();
      } else {
        const ended = choose.some(this.model.live()).map((name) => ({ name, outcome: choose.outcome() }));
        const next = advance(
          this.graph,
          this.state,
          ended.map(({ name, outcome }) => ({ step: this.at(name), outcome })),
        );
        this.model.end(ended);
        this.state = next.state;
        expect(next.end).toBe(this.model.status() === 'running' ? null : this.model.status());
      }
      this.compare();
    }
  }

  /** Returns the steps that run again; null: it was refused. */
  resume(named: readonly string[] | null): readonly string[] | null {
    const places = named?.map((name) => this.at(name)) ?? null;
    const resumed = resumeRun(this.graph, this.state, places);
    const expected = this.model.resume(named);
    if ('problem' in resumed) {
      expect(expected).toBeNull();
      const { step, dependency } = resumed.problem;
      expect(this.graph[step]!.dependsOn).toContain(dependency);
      return null;
    }
    const { reset } = resumed.resumption;
    const { state, enqueue } = restart(this.graph, resumed.resumption);
    expect(reset.map((step) => this.graph[step]!.name)).toEqual(expected);
    expect(enqueue.map((step) => this.graph[step]!.name)).toEqual(this.model.live());
    expect(enqueue.length).toBeGreaterThan(0);
    this.state = state;
    this.compare();
    return expected;
  }

  at(name: string): number {
    return this.graph.findIndex((step) => step.name === name);
  }

  compare(): void {
    const shown = this.graph.map(({ name }, index) => [name, SHOWN[this.state[index]!]]);
    expect(shown).toEqual(this.model.names().map((name) => [name, this.model.statusOf(name)]));
  }
}

describe('resumes of random graphs against the model', () => {
  const RUNS = { numRuns: cases(400) };

  it('agree, however often and from wherever a workflow is resumed, and end again', () => {
    fc.assert(
      fc.property(graphs({ maxSteps: 12 }), fc.gen(), (steps, gen) => {
        const choose = chooser(gen);
        const life = new Life(steps);
        for (let run = 0; run < 4; run++) {
          life.run(choose);
          const { status } = { status: life.model.status() };
          if (status === 'completed') return;
          const named = choose.rarely(2) ? choose.some(life.model.names()).slice(0, 3) : null;
          if (life.resume(named) === null) expect(life.resume(null)).not.toBeNull();
        }
        life.run(choose);
      }),
      RUNS,
    );
  });

  it('leave no step failed or cancelled when none is named', () => {
    fc.assert(
      fc.property(graphs({ maxSteps: 12 }), fc.gen(), (steps, gen) => {
        const life = new Life(steps);
        life.run(chooser(gen));
        if (life.model.status() === 'completed') return;
        life.resume(null);
        expect(life.state).toMatch(/^[cbq]+$/);
      }),
      RUNS,
    );
  });
});

describe('a resume', () => {
  const step = (name: string, dependsOn: readonly string[] = [], policy: Policy = 'halt'): ModelStep => ({
    ...{ name, dependsOn, policy },
  });
  //  a ─ c ─ d
  //  b ╱
  const joined = (policy: Policy): Graph =>
    build([step('a'), step('b', [], policy), step('c', ['a', 'b']), step('d', ['c'])]);

  const resumed = (graph: Graph, before: string, named: readonly number[]): object => {
    const answer = resumeRun(graph, before, named);
    if ('problem' in answer) return answer;
    const { state, enqueue } = restart(graph, answer.resumption);
    return { state, reset: answer.resumption.reset, enqueue };
  };

  it('refuses a named step whose dependency neither completed nor is reset, whatever the policy', () => {
    expect(resumeRun(joined('continue'), 'cfxx', [2])).toEqual({ problem: { step: 2, dependency: 1 } });
    expect(resumed(joined('halt'), 'cfxx', [3, 1])).toMatchObject({ reset: [1, 2, 3], enqueue: [1] });
  });

  it('goes on behind a failure that counted as a completion', () => {
    expect(resumed(joined('continue'), 'cfcf', [0])).toEqual({ state: 'qfbb', reset: [0, 2, 3], enqueue: [0] });
  });

  it('leaves out what a failure under skip still rules out, and refuses what one under halt does', () => {
    expect(resumed(joined('skip'), 'cfss', [0])).toEqual({ state: 'qfss', reset: [0], enqueue: [0] });
    expect(resumeRun(joined('halt'), 'cfxx', [0])).toEqual({ problem: { step: 2, dependency: 1 } });
  });
});
