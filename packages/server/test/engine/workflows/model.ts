/**
 * What a workflow is, written down a second time: slowly, from the words of the specification, and with nothing kept
 * that could be worked out again. The state is the list of what happened; every question is answered by walking the
 * graph from there.
 */
export type Policy = 'halt' | 'skip' | 'continue';
export type Outcome = 'completed' | 'failed' | 'cancelled';

export interface ModelStep {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly policy: Policy;
}

export interface Ending {
  readonly name: string;
  readonly outcome: Outcome;
}

export class Model {
  /** How the jobs of steps ended, as far as they did. */
  #outcomes = new Map<string, Outcome>();
  /** Names of the steps that stood still when the workflow was stopped, and why it was. */
  #stopped: { readonly as: 'failed' | 'cancelled'; readonly steps: ReadonlySet<string> } | null = null;

  constructor(private readonly definitions: readonly ModelStep[]) {}

  /** Jobs of steps end, all at the same instant. What is no live job is left out. */
  end(outcomes: readonly Ending[]): void {
    const live = new Set(this.live());
    const real = outcomes.filter(({ name }) => live.has(name));
    const unfinished = this.unfinished();
    const halts = real.some(({ name, outcome }) => outcome !== 'completed' && this.#step(name).policy === 'halt');
    for (const { name, outcome } of real) this.#outcomes.set(name, outcome);
    const ended = new Set(real.map(({ name }) => name));
    if (halts) this.#stopped = { as: 'failed', steps: new Set(unfinished.filter((name) => !ended.has(name))) };
  }

  cancel(): void {
    if (this.status() === 'running') this.#stopped = { as: 'cancelled', steps: new Set(this.unfinished()) };
  }

  /**
   * The workflow goes on, from the named steps or, without names, from every step that failed or was cancelled. Returns
   * the steps that run again, or null if one of them never could.
   */
  resume(named: readonly string[] | null): string[] | null {
    const broken = this.names().filter((name) => ['failed', 'cancelled'].includes(this.statusOf(name)));
    const isFirst = (name: string): boolean => (named ?? broken).includes(name);
    const isBehind = (name: string): boolean => isFirst(name) || this.#step(name).dependsOn.some(isBehind);
    const rulesOut = (name: string): boolean =>
      isBehind(name)
        ? isLeftOut(name)
        : this.statusOf(name) === 'skipped' || (broken.includes(name) && this.#step(name).policy === 'skip');
    const isLeftOut = (name: string): boolean =>
      (named === null || !isFirst(name)) && this.#step(name).dependsOn.some(rulesOut);
    const runs = (name: string): boolean => isBehind(name) && !isLeftOut(name);
    const neverRuns = (name: string): boolean =>
      this.#step(name).dependsOn.some((dependency) => {
        if (runs(dependency) || this.statusOf(dependency) === 'completed') return false;
        return (named?.includes(name) ?? false) || this.#step(dependency).policy === 'halt';
      });
    const again = this.names().filter(runs);
    if (again.some(neverRuns)) return null;
    const left = this.names().filter((name) => !isBehind(name));
    const kept = left.map((name) => [name, this.statusOf(name)] as const);
    this.#stopped = null;
    this.#outcomes = new Map(kept.filter((each): each is [string, Outcome] => each[1] !== 'skipped'));
    return again;
  }

  /** Steps whose jobs exist and have not ended. */
  live(): string[] {
    return this.names().filter((name) => this.#isEnqueued(name) && this.statusOf(name) === 'unfinished');
  }

  unfinished(): string[] {
    return this.names().filter((name) => this.statusOf(name) === 'unfinished');
  }

  statusOf(name: string): Outcome | 'skipped' | 'unfinished' {
    if (this.#stopped?.steps.has(name)) return 'cancelled';
    const outcome = this.#outcomes.get(name);
    if (outcome) return outcome;
    return this.#isSkipped(name) ? 'skipped' : 'unfinished';
  }

  status(): 'running' | 'completed' | 'failed' | 'partially_failed' | 'cancelled' {
    if (this.#stopped) return this.#stopped.as;
    if (this.unfinished().length > 0) return 'running';
    return this.names().every((name) => this.statusOf(name) === 'completed') ? 'completed' : 'partially_failed';
  }

  names(): string[] {
    return this.definitions.map(({ name }) => name);
  }

  #step(name: string): ModelStep {
    return this.definitions.find((each) => each.name === name)!;
  }

  #isEnqueued(name: string): boolean {
    return this.#step(name).dependsOn.every((dependency) => {
      const outcome = this.#outcomes.get(dependency);
      if (outcome === undefined) return false;
      return outcome === 'completed' || this.#step(dependency).policy === 'continue';
    });
  }

  #isSkipped(name: string): boolean {
    return this.#step(name).dependsOn.some((dependency) => {
      const outcome = this.#outcomes.get(dependency);
      const hasFailed = outcome === 'failed' || outcome === 'cancelled';
      return (
        (hasFailed && this.#step(dependency).policy === 'skip') ||
        (outcome === undefined && this.#isSkipped(dependency))
      );
    });
  }
}
