import { begin, findExcess, type GraphProblem } from '../../domain/dag.js';
import { forbidden, invalidRequest, MillraceError, notFound } from '../../domain/errors.js';
import { bucketOf, bucketOfId, idSuffix, idsWith, isUuid } from '../../domain/ids.js';
import { mermaid } from '../../domain/mermaid.js';
import { int4Array, jsonArray, textArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { toInstant, toInstantOrNull, type WorkflowRow, type WorkflowSummaryRow } from '../../store/rows.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import { define, shownSteps, stepsText, type Definition, type Definitions } from './definitions.js';
import type { EventStreams } from '../shared/event-streams.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import type { Effect, Idempotency } from '../shared/idempotency.js';
import { readPage } from '../shared/page.js';
import { random32 } from '../shared/random.js';
import { currentContexts } from './run-context.js';
import { namesOf, planResume, type Resumer } from './resumer.js';
import { shareContext, stepColumns, limitsOf, stepSuffixes, type NewStepJob } from './run-writer.js';
import { stepRecords, type JobTexts } from './step-records.js';
import type { StepSettler } from './step-settler.js';
import { WorkflowWatcher } from './watch.js';
import type { Tenants } from '../shared/tenants.js';
import { toSummary, workflowListing } from './workflow-list.js';
import type {
  JsonText,
  ResumeSpec,
  WorkflowRecord,
  WorkflowSnapshot,
  WorkflowSpec,
  WorkflowStepRecord,
  WorkflowSummaryRecord,
} from '../../domain/records.js';
import type { Created, Page, ResumedWorkflow, WorkflowListQuery, WorkflowsApi } from '../api.js';

const sql = { ...loadStatements('workflows/runs.sql'), ...loadStatements('workflows/reads.sql') };

interface RowAndJobs extends Pick<WorkflowRow, 'tenant' | 'id' | 'definition' | 'state'>, JobTexts {}

interface NewWorkflow {
  readonly tenant: string;
  readonly spec: WorkflowSpec;
  readonly definition: Definition;
}

const BATCH = { maxItems: 200, inFlight: 2, maxWaiting: 20_000 };

export interface WorkflowsDeps {
  readonly db: Database;
  readonly hub: Hub;
  readonly counters: Counters;
  readonly tenants: Tenants;
  readonly keys: Idempotency;
  readonly definitions: Definitions;
  readonly stepSettler: StepSettler;
  readonly resumer: Resumer;
  readonly defaultQueue: string;
  readonly streams: EventStreams;
}

export class Workflows implements WorkflowsApi {
  readonly #creates = new Batcher<NewWorkflow, string>((items) => this.#insert(items), BATCH);

  readonly watcher: WorkflowWatcher;

  constructor(private readonly deps: WorkflowsDeps) {
    const { db, hub, streams } = deps;
    this.watcher = new WorkflowWatcher(db.run, hub, streams, (tenant, id) => this.#snapshot(tenant, id));
  }

  async create(tenant: string, spec: WorkflowSpec, key: string | null): Promise<Created> {
    const defined = define(spec.steps);
    if ('problem' in defined) throw refusal(defined.problem);
    const excess = findExcess(defined.definition.graph);
    if (excess) throw refusal(excess);
    await this.deps.tenants.register(tenant);
    const item = { tenant, spec, definition: defined.definition };
    if (key === null) return { id: await this.#creates.submit(item), replayed: false };
    const { ids, replayed } = await this.deps.keys.once({ tenant, key, kind: 'workflow' }, (execute) =>
      this.#store(execute, [item]),
    );
    return { id: ids[0]!, replayed };
  }

  async get(tenant: string, id: string): Promise<WorkflowRecord> {
    const [record] = await this.#toRecords([await this.#row(tenant, id)]);
    return record!;
  }

  async list(tenant: string, query: WorkflowListQuery): Promise<Page<WorkflowRecord>> {
    const toItems = (rows: readonly WorkflowRow[]) => this.#toRecords(rows);
    return readPage(this.deps.db, query, workflowListing(tenant, query, 'full', toItems));
  }

  async summaries(tenant: string, query: WorkflowListQuery): Promise<Page<WorkflowSummaryRecord>> {
    const toItems = (rows: readonly WorkflowSummaryRow[]) => rows.map(toSummary);
    return readPage(this.deps.db, query, workflowListing(tenant, query, 'summary', toItems));
  }

  async cancel(tenant: string, id: string): Promise<void> {
    const row = await this.#row(tenant, id);
    if (row.completed_at === null && (await this.deps.stepSettler.cancelWorkflow(row))) return;
    throw new MillraceError('already_finished', 'the workflow has ended already');
  }

  async resume(tenant: string, id: string, spec: ResumeSpec, key: string | null): Promise<ResumedWorkflow> {
    await this.#row(tenant, id);
    return this.deps.resumer.resume({ tenant, id }, spec, key);
  }

  async previewResume(tenant: string, id: string, spec: ResumeSpec): Promise<readonly string[]> {
    const row = await this.#row(tenant, id);
    const definition = this.deps.definitions.parsed(row.id, row.definition);
    return namesOf(definition, planResume(definition, row, spec).reset);
  }

  async steps(tenant: string, id: string): Promise<readonly WorkflowStepRecord[]> {
    return (await this.#steps(tenant, id)).steps;
  }

  watch(tenant: string, id: string, signal: AbortSignal): Promise<AsyncIterable<WorkflowSnapshot>> {
    return this.watcher.watch(tenant, id, signal);
  }

  async diagram(tenant: string, id: string): Promise<string> {
    const { definition, steps } = await this.#steps(tenant, id);
    return mermaid(
      definition.graph,
      steps.map((step) => step.status),
    );
  }

  async #steps(tenant: string, id: string): Promise<{ definition: Definition; steps: WorkflowStepRecord[] }> {
    const row = await this.#row<RowAndJobs>(tenant, id, sql.workflow_and_jobs);
    const definition = this.deps.definitions.parsed(row.id, row.definition);
    return { definition, steps: stepRecords(definition, row.state, row) };
  }

  /** In its tenant's turn: it may be long, and whoever watches many workflows asks often. */
  async #snapshot(tenant: string, id: string): Promise<WorkflowSnapshot> {
    const { db, definitions } = this.deps;
    const read: Execute = (statement) => db.read({ tenant, statement });
    const row = await this.#row<WorkflowRow & RowAndJobs>(tenant, id, sql.workflow_and_all, read);
    const [workflow] = await this.#toRecords([row]);
    return { workflow: workflow!, steps: stepRecords(definitions.parsed(row.id, row.definition), row.state, row) };
  }

  async #insert(items: readonly NewWorkflow[]): Promise<readonly string[]> {
    const { ids, committed } = await this.#store(this.deps.db.run, items);
    committed();
    return ids;
  }

  async #store(execute: Execute, items: readonly NewWorkflow[]): Promise<Effect> {
    const begun = items.map((item) => begin(item.definition.graph));
    const suffixes = items.map(({ tenant }, n) => idSuffix(n, bucketOf(tenant), random32()));
    const contexts = items.map(({ spec }, n) => shareContext(spec.context, begun[n]!.enqueue.length, 1));
    const roots = items.flatMap(({ tenant, spec }, n) =>
      begun[n]!.enqueue.map((step) => {
        return { n: n + 1, tenant, workflowId: '', spec: spec.steps[step]!, context: contexts[n]! };
      }),
    );
    const [row] = await execute<{ prefix: string }>(
      sql.create_workflows({
        suffixes: textArray(suffixes),
        tenants: textArray(items.map((item) => item.tenant)),
        names: textArray(items.map((item) => item.spec.name)),
        definitions: jsonArray(items.map((item) => stepsText(item.spec.steps))),
        contexts: jsonArray(items.map((item) => item.spec.context)),
        metadata: jsonArray(items.map((item) => item.spec.metadata)),
        states: textArray(begun.map(({ state }) => state)),
        versions: int4Array(contexts.map(({ version }) => version)),
        context_bytes: int4Array(contexts.map(({ text, bytes }) => (text === '{}' ? 0 : bytes))),
        job_workflows: int4Array(roots.map((root) => root.n)),
        job_suffixes: textArray(stepSuffixes(roots, items.length)),
        ...stepColumns(roots, this.deps.defaultQueue),
      }),
    );
    const ids = suffixes.map(idsWith(row!.prefix));
    const committed = (): void => {
      items.forEach((item, n) => this.deps.definitions.keep(ids[n]!, item.definition));
      this.#created(items, roots);
    };
    return { ids, committed };
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

  async #row<R extends object = WorkflowRow>(
    tenant: string,
    id: string,
    statement: (key: { readonly tenant: string; readonly id: string }) => Statement = sql.workflow_of_tenant,
    read: Execute = this.deps.db.run,
  ): Promise<R> {
    const { db } = this.deps;
    if (!isUuid(id)) throw notFound('workflow');
    const [row] = await read<R>(statement({ tenant, id }));
    if (row) return row;
    const [owner] = await db.run(sql.owner_of_workflow({ id, bucket: bucketOfId(id) }));
    throw owner ? forbidden('this workflow belongs to another tenant') : notFound('workflow');
  }

  async #toRecords(rows: readonly WorkflowRow[]): Promise<WorkflowRecord[]> {
    const { db, definitions } = this.deps;
    const contexts = await currentContexts(
      db.run,
      rows
        .filter((row) => row.unmerged.length > 0)
        .map((row) => ({ run: { ...row, definition: definitions.parsed(row.id, row.definition) }, completed: [] })),
    );
    return rows.map((row) => toRecord(row, contexts.get(row.id) ?? row.context));
  }
}

function refusal({ step, field, message }: GraphProblem): MillraceError {
  return invalidRequest(message, [{ path: `steps[${step}].${field}`, message }]);
}

/** `context`: what a step that started now would receive. */
const toRecord = (row: WorkflowRow, context: JsonText): WorkflowRecord => ({
  id: row.id,
  tenant_id: row.tenant,
  name: row.name,
  status: row.status,
  steps: shownSteps(row.definition),
  context,
  metadata: row.metadata ?? '{}',
  created_at: toInstant(row.created_at),
  started_at: toInstantOrNull(row.started_at),
  completed_at: toInstantOrNull(row.completed_at),
});
