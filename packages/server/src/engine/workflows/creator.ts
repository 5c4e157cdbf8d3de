import {
  begin,
  findTooManyDependencies,
  findUnrelatedReference,
  type Advance,
  type GraphProblem,
} from '../../domain/dag.js';
import { invalidRequest, type MillraceError } from '../../domain/errors.js';
import { bucketOf, idSuffix, idsWith } from '../../domain/ids.js';
import type { JsonText } from '../../domain/records.js';
import type { WorkflowSpec } from '../../domain/workflow-records.js';
import { int4Array, jsonArray, textArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Created, CreateKey } from '../api.js';
import { AfterCommit } from '../outcomes/after-commit.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';
import type { Effect, Idempotency } from '../shared/idempotency.js';
import { random32 } from '../shared/random.js';
import type { Tenants } from '../shared/tenants.js';
import { define, mayBeginWithout, stepsText, type Definition, type Definitions } from './definitions.js';
import {
  limitsOf,
  shareContext,
  stepColumns,
  stepSuffixes,
  writeRuns,
  type NewStepJob,
  type SharedContext,
} from './run-writer.js';
import { openWaits } from './step-waits.js';
import { conditionsIn } from './turns.js';

/**
 * Creates workflows and the jobs of their first steps. Plain ones that come together share a statement. One with
 * conditions or waits has a transaction of its own: a step may begin to wait, and if no condition holds the workflow
 * ends in the transaction that creates it.
 */
const sql = loadStatements('workflows/runs.sql');

interface NewWorkflow {
  readonly tenant: string;
  readonly spec: WorkflowSpec;
  readonly definition: Definition;
}

/** One that is about to be stored. */
interface Begun extends NewWorkflow {
  readonly advance: Advance;
  readonly context: SharedContext;
}

interface Root extends NewStepJob {
  /** The number of its workflow, from 1. */
  readonly n: number;
}

const BATCH = { maxItems: 200, inFlight: 2, maxWaiting: 20_000 };

export interface CreatorDeps {
  readonly db: Database;
  readonly hub: Hub;
  readonly counters: Counters;
  readonly tenants: Tenants;
  readonly keys: Idempotency;
  readonly definitions: Definitions;
  readonly defaultQueue: string;
}

export class WorkflowCreator {
  readonly #plain = new Batcher<NewWorkflow, string>((items) => this.#insert(items), BATCH);

  constructor(private readonly deps: CreatorDeps) {}

  async create(tenant: string, spec: WorkflowSpec, key: CreateKey | null): Promise<Created> {
    const { db, tenants, keys } = this.deps;
    const item = { tenant, spec, definition: checked(spec) };
    await tenants.register(tenant);
    if (key !== null) {
      const { ids, ...done } = await keys.once({ tenant, ...key, kind: 'workflow' }, (execute) =>
        this.#store(execute, [item]),
      );
      return { id: ids[0]!, ...done };
    }
    if (item.definition.rules === null) return { id: await this.#plain.submit(item), replayed: false };
    const { ids, committed } = await db.transaction((execute) => this.#store(execute, [item]));
    committed();
    return { id: ids[0]!, replayed: false };
  }

  /** In the caller's transaction. */
  createIn(execute: Execute, items: readonly Omit<NewWorkflow, 'definition'>[]): Promise<Effect> {
    return this.#store(
      execute,
      items.map((item) => ({ ...item, definition: checked(item.spec) })),
    );
  }

  async #insert(items: readonly NewWorkflow[]): Promise<readonly string[]> {
    const { ids, committed } = await this.#store(this.deps.db.run, items);
    committed();
    return ids;
  }

  async #store(execute: Execute, items: readonly NewWorkflow[]): Promise<Effect> {
    const begun = items.map(begunOf);
    const suffixes = items.map(({ tenant }, n) => idSuffix(n, bucketOf(tenant), random32()));
    const roots = begun.flatMap(rootsOf);
    const [row] = await execute<{ prefix: string }>(
      sql.create_workflows({
        suffixes: textArray(suffixes),
        tenants: textArray(items.map((item) => item.tenant)),
        names: textArray(items.map((item) => item.spec.name)),
        definitions: jsonArray(items.map((item) => stepsText(item.spec.steps))),
        contexts: jsonArray(items.map((item) => item.spec.context)),
        metadata: jsonArray(items.map((item) => item.spec.metadata)),
        states: textArray(begun.map(({ advance }) => advance.state)),
        versions: int4Array(begun.map(({ context }) => context.version)),
        context_bytes: int4Array(begun.map(enteredBytes)),
        rules: int4Array(items.map(({ definition }) => definition.rules)),
        job_workflows: int4Array(roots.map((root) => root.n)),
        job_suffixes: textArray(stepSuffixes(roots, items.length)),
        ...stepColumns(roots, this.deps.defaultQueue),
      }),
    );
    const ids = suffixes.map(idsWith(row!.prefix));
    const afterCommit = new AfterCommit();
    await openWaits(
      execute,
      roots.map((root) => ({ ...root, workflowId: ids[root.n - 1]! })),
    );
    for (const [n, each] of begun.entries())
      if (each.advance.end !== null) await this.#end(execute, each, ids[n]!, afterCommit);
    const committed = (): void => {
      begun.forEach(({ advance, definition }, n) => {
        if (advance.end === null) this.deps.definitions.keep(ids[n]!, definition);
      });
      this.#created(items, roots);
      afterCommit.apply(this.deps.hub, this.deps.counters);
    };
    return { ids, committed };
  }

  /** No condition held: it has ended before anything ran. */
  async #end(execute: Execute, begun: Begun, id: string, afterCommit: AfterCommit): Promise<void> {
    const { tenant, definition, advance, context } = begun;
    const run = { tenant, id, definition, state: advance.state, unmerged: [], context: null };
    const bytes = enteredBytes(begun);
    const locked = { ...run, version: context.version, stored_apart: context.version !== null, context_bytes: bytes };
    const change = { locked, advance, completed: [], contextBytes: bytes };
    await writeRuns(execute, [change], this.deps.defaultQueue, afterCommit);
    afterCommit.workflowEnded(tenant, advance.end!);
  }

  #created(items: readonly NewWorkflow[], roots: readonly NewStepJob[]): void {
    const { hub, counters, defaultQueue } = this.deps;
    for (const { tenant } of items) counters.workflowCreated(tenant);
    for (const root of roots) {
      const { tenant, spec } = root;
      const queue = spec.queue ?? defaultQueue;
      counters.created({ tenant, queue, task: spec.task });
      const limits = limitsOf(root, defaultQueue);
      if (limits === null) hub.announceWork(queue, spec.jobConfig?.priority ?? 0, null);
      else hub.announceLimits({ limits: limits.slice(0, 1), slept: false });
    }
  }
}

function begunOf(item: NewWorkflow): Begun {
  const { spec, definition } = item;
  const advance = begin(
    definition.graph,
    conditionsIn(definition, spec.context, () => false),
  );
  const shared = shareContext(spec.context, advance.enqueue.length, 1);
  return { ...item, advance, context: mayBeginWithout(definition) ? { ...shared, version: 1 } : shared };
}

const rootsOf = ({ tenant, spec, advance, context }: Begun, index: number): Root[] =>
  advance.enqueue.map((step) => ({ n: index + 1, tenant, workflowId: '', spec: spec.steps[step]!, context }));

const enteredBytes = ({ context: { text, bytes } }: Begun): number => (text === '{}' ? 0 : bytes);

/** `path`: where the workflow stands in its request. */
export function checked({ steps }: Pick<WorkflowSpec, 'steps'>, path = ''): Definition {
  const defined = define(steps);
  if ('problem' in defined) throw refusal(defined.problem, path);
  const { graph } = defined.definition;
  const refs = steps.map(({ when }): JsonText | null => when?.step ?? null);
  const problem = findTooManyDependencies(graph) ?? findUnrelatedReference(graph, refs);
  if (problem) throw refusal(problem, path);
  return defined.definition;
}

function refusal({ step, field, message }: GraphProblem, path: string): MillraceError {
  return invalidRequest(message, [{ path: `${path}steps[${step}].${field}`, message }]);
}
