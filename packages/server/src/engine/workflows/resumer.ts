import { WORKFLOW_MAX_RESUMES, type TerminalWorkflowStatus, type WorkflowStatus } from '@millrace/contract';
import { STEP } from '../../domain/dag.js';
import { invalidRequest, MillraceError, notFound } from '../../domain/errors.js';
import { bucketOf, idsWith, idSuffix } from '../../domain/ids.js';
import type { ResumeSpec } from '../../domain/workflow-records.js';
import { restart, resumeRun, type Resumption } from '../../domain/resume.js';
import { int4Array, textArray, uuidArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { ResumedWorkflow } from '../api.js';
import { AfterCommit } from '../outcomes/after-commit.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';
import type { Effect, Idempotency } from '../shared/idempotency.js';
import { random32 } from '../shared/random.js';
import type { Definition, Definitions, WorkflowKey } from './definitions.js';
import { rebuildContext } from './rebuilt-context.js';
import { limitsOf, shareContext, stepColumns, stepSuffixes, writeRuns, type NewStepJob } from './run-writer.js';
import { declareRules, openWaits } from './step-waits.js';
import { conditionsIn } from './turns.js';

/**
 * A workflow that ended goes on, in one transaction: lock its end, decide by the rules of domain/resume.ts, set aside
 * the jobs of the steps that are reset, rebuild the context, and move the end back to the runs with new jobs for the
 * steps whose turn it is. The row of the end is what resumes, retention and each other compete for: one of them takes
 * it away, and everybody else finds nothing to act on.
 */
const sql = { ...loadStatements('workflows/resume.sql'), ...loadStatements('workflows/runs.sql') };

const RESUMABLE: readonly WorkflowStatus[] = ['failed', 'partially_failed', 'cancelled'];

interface EndRow extends WorkflowKey {
  readonly status: TerminalWorkflowStatus;
  readonly state: string;
  readonly version: number | null;
}

export interface ResumerDeps {
  readonly db: Database;
  readonly hub: Hub;
  readonly counters: Counters;
  readonly keys: Idempotency;
  readonly definitions: Definitions;
  readonly defaultQueue: string;
  readonly maxContextBytes: number;
}

export class Resumer {
  constructor(private readonly deps: ResumerDeps) {}

  async resume(workflow: WorkflowKey, spec: ResumeSpec, key: string | null): Promise<ResumedWorkflow> {
    const { db, keys, hub, counters } = this.deps;
    const effect = async (execute: Execute): Promise<Effect> => {
      const afterCommit = new AfterCommit();
      const id = await this.resumeIn(execute, workflow, spec, afterCommit);
      return { ids: [id], committed: () => afterCommit.apply(hub, counters) };
    };
    const use = { tenant: workflow.tenant, key: key ?? '', kind: `resume ${workflow.id.toLowerCase()}` };
    const done = key === null ? await alone(db, effect) : await keys.once(use, effect);
    return { steps: await this.#stepsOf(workflow, done.ids[0]!), replayed: done.replayed };
  }

  /** In a transaction of the caller. Returns the id of the resume. */
  async resumeIn(execute: Execute, workflow: WorkflowKey, spec: ResumeSpec, afterCommit: AfterCommit): Promise<string> {
    const { definitions } = this.deps;
    const [end] = await execute<EndRow>(sql.lock_end({ tenant: workflow.tenant, id: workflow.id }));
    if (!end) throw new MillraceError('conflict', 'the workflow has not ended, or is being removed');
    const definition = (await definitions.of([workflow], execute)).get(workflow.id);
    if (!definition) throw notFound('workflow');
    return this.#write(execute, end, definition, spec, afterCommit);
  }

  async #write(
    execute: Execute,
    end: EndRow,
    definition: Definition,
    spec: ResumeSpec,
    afterCommit: AfterCommit,
  ): Promise<string> {
    const { tenant, id, status } = end;
    const plan = planResume(definition, end, spec);
    const kept = definition.steps.flatMap((_, step) => (plan.state[step] === STEP.completed ? [step] : []));
    const rebuilt = await rebuildContext(execute, end, definition, kept, spec.context, this.deps.maxContextBytes);
    if (rebuilt.run > WORKFLOW_MAX_RESUMES)
      throw new MillraceError('conflict', `the workflow has been resumed ${WORKFLOW_MAX_RESUMES} times`);
    const next = restart(
      definition.graph,
      plan,
      conditionsIn(definition, rebuilt.text, (step) => plan.state[step] === STEP.completed),
    );
    const context = shareContext(rebuilt.text, next.enqueue.length, rebuilt.lastVersion + 1);
    const jobs = next.enqueue.map((step) => ({ tenant, workflowId: id, spec: definition.steps[step]!, context }));
    const suffixes = stepSuffixes(jobs);
    const suffix = idSuffix(0, bucketOf(tenant), random32());
    const names = textArray(namesOf(definition, plan.reset));
    const earlier = await execute<{ id: string }>(sql.set_aside({ workflow_id: id, steps: names }));
    await declareRules(execute, [definition.rules]);
    const [row] = await execute<{ prefix: string }>(
      sql.resume_run({
        ...{ tenant, id, status, suffix, state: next.state, run: rebuilt.run },
        context: context.text,
        version: context.version,
        last_version: rebuilt.lastVersion,
        context_bytes: rebuilt.bytes,
        start: rebuilt.startVersion,
        start_context: rebuilt.newStart,
        steps: int4Array(plan.reset),
        earlier_jobs: uuidArray(earlier.map((job) => job.id)),
        first_suffix: suffixes[0] ?? null,
        job_suffixes: textArray(suffixes),
        ...stepColumns(jobs, this.deps.defaultQueue),
      }),
    );
    await openWaits(execute, jobs);
    this.#announce(id, jobs, afterCommit);
    if (next.end !== null) {
      const version = context.version ?? rebuilt.lastVersion;
      const locked = { tenant, id, definition, version, state: next.state, unmerged: [], context: null };
      const run = { ...locked, stored_apart: context.version !== null, context_bytes: rebuilt.bytes };
      const change = { locked: run, advance: next, completed: [], contextBytes: rebuilt.bytes };
      await writeRuns(execute, [change], this.deps.defaultQueue, afterCommit);
      afterCommit.workflowEnded(tenant, next.end);
    }
    return idsWith(row!.prefix)(suffix);
  }

  #announce(id: string, jobs: readonly NewStepJob[], afterCommit: AfterCommit): void {
    const { defaultQueue } = this.deps;
    afterCommit.workflowMoved(id);
    for (const job of jobs) {
      const { tenant, spec } = job;
      const origin = { tenant, queue: spec.queue ?? defaultQueue, task: spec.task };
      afterCommit.enqueued(origin, spec.jobConfig?.priority ?? 0, limitsOf(job, defaultQueue)?.[0]);
    }
  }

  /** A repeat under the same key answers as the first request did. */
  async #stepsOf(workflow: WorkflowKey, id: string): Promise<string[]> {
    const { db, definitions } = this.deps;
    const [row] = await db.run<{ steps: number[] }>(sql.steps_of_resume({ workflow_id: workflow.id, id }));
    const definition = (await definitions.of([workflow], db.run)).get(workflow.id);
    if (!row || !definition) throw notFound('workflow');
    return namesOf(definition, row.steps);
  }
}

async function alone(
  db: Database,
  effect: (execute: Execute) => Promise<Effect>,
): Promise<{ readonly ids: readonly string[]; readonly replayed: boolean }> {
  const { ids, committed } = await db.transaction(effect);
  committed();
  return { ids, replayed: false };
}

export const namesOf = ({ steps }: Definition, places: readonly number[]): string[] =>
  places.map((step) => steps[step]!.name);

/** What a resume would do, or the reason why it may not. */
export function planResume(
  definition: Definition,
  { status, state }: { readonly status: WorkflowStatus; readonly state: string },
  { steps }: ResumeSpec,
): Resumption {
  if (!RESUMABLE.includes(status)) {
    const message = `the workflow is ${status}; only one that failed, failed in part or was cancelled can be resumed`;
    throw new MillraceError('conflict', message);
  }
  const resumed = resumeRun(definition.graph, state, steps?.map((name, n) => placeOf(definition, name, n)) ?? null);
  if ('resumption' in resumed) return resumed.resumption;
  const { step, dependency } = resumed.problem;
  const [name, needed] = [step, dependency].map((place) => JSON.stringify(definition.steps[place]!.name));
  const message = `step ${name} depends on ${needed}, which did not complete and does not run again; name it too`;
  const place = steps?.indexOf(definition.steps[step]!.name) ?? -1;
  throw invalidRequest(message, [{ path: place < 0 ? 'steps' : `steps[${place}]`, message }]);
}

function placeOf({ indexOf }: Definition, name: string, n: number): number {
  const place = indexOf.get(name);
  if (place !== undefined) return place;
  const message = `${JSON.stringify(name)} is not a step of this workflow`;
  throw invalidRequest(message, [{ path: `steps[${n}]`, message }]);
}
