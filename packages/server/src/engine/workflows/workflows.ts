import type { WorkflowStatus } from '@millrace/contract';
import { forbidden, MillraceError, notFound } from '../../domain/errors.js';
import { bucketOfId, isUuid } from '../../domain/ids.js';
import { mermaid } from '../../domain/mermaid.js';
import type { Execute } from '../../store/connection/database.js';
import { toInstant, toInstantOrNull, type WorkflowRow, type WorkflowSummaryRow } from '../../store/rows.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import { WorkflowCreator, type CreatorDeps } from './creator.js';
import { shownSteps, type Definition } from './definitions.js';
import type { EventStreams } from '../shared/event-streams.js';
import { readPage } from '../shared/page.js';
import { currentContexts } from './run-context.js';
import { namesOf, planResume, type Resumer } from './resumer.js';
import { stepRecords, type JobTexts } from './step-records.js';
import type { StepSettler } from './step-settler.js';
import { StoredStarts } from './stored-starts.js';
import { WorkflowWatcher } from './watch.js';
import { toSummary, workflowListing } from './workflow-list.js';
import type { JsonText } from '../../domain/records.js';
import type {
  ResumeSpec,
  WorkflowRecord,
  WorkflowSnapshot,
  WorkflowSpec,
  WorkflowStepRecord,
  WorkflowSummaryRecord,
} from '../../domain/workflow-records.js';
import type { Created, CreateKey, Page, ResumedWorkflow, WorkflowListQuery, WorkflowsApi } from '../api.js';

const sql = loadStatements('workflows/reads.sql');

interface RowAndJobs extends Pick<WorkflowRow, 'tenant' | 'id' | 'definition' | 'state'>, JobTexts {}

export interface WorkflowsDeps extends CreatorDeps {
  readonly stepSettler: StepSettler;
  readonly resumer: Resumer;
  readonly streams: EventStreams;
}

export class Workflows implements WorkflowsApi {
  readonly #creator: WorkflowCreator;

  readonly watcher: WorkflowWatcher;

  /** For schedules. */
  readonly starts: StoredStarts;

  constructor(private readonly deps: WorkflowsDeps) {
    const { db, hub, streams } = deps;
    this.#creator = new WorkflowCreator(deps);
    this.starts = new StoredStarts(this.#creator);
    this.watcher = new WorkflowWatcher(db.run, hub, streams, (tenant, id) => this.#snapshot(tenant, id));
  }

  create(tenant: string, spec: WorkflowSpec, key: CreateKey | null): Promise<Created> {
    return this.#creator.create(tenant, spec, key);
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
    throw new MillraceError('already_finished', 'the workflow has already ended');
  }

  async resume(tenant: string, id: string, spec: ResumeSpec, key: string | null): Promise<ResumedWorkflow> {
    await this.#row(tenant, id);
    return this.deps.resumer.resume({ tenant, id }, spec, key);
  }

  /** Its status, for whoever has something to tell it. */
  async statusOf(tenant: string, id: string): Promise<WorkflowStatus> {
    return (await this.#row(tenant, id)).status;
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
      steps.map(({ status, skipped_by: by, next_retry_at: retryAt }, index) => {
        const waits = Boolean(definition.steps[index]!.wait);
        return { status, skippedBy: by, retries: retryAt !== null, waits };
      }),
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
