import type { WorkflowStatus } from '@millrace/contract';
import type {
  ResumeSpec,
  WorkflowRecord,
  WorkflowSnapshot,
  WorkflowSpec,
  WorkflowStepRecord,
  WorkflowSummaryRecord,
} from '../../domain/workflow-records.js';
import type { CreateKey, Created } from './creates.js';
import type { ListQuery, Page } from './lists.js';

export interface WorkflowListQuery extends ListQuery {
  readonly status: WorkflowStatus | null;
  readonly name: string | null;
}

export interface ResumedWorkflow {
  /** Names of the steps that were reset, in order of definition. */
  readonly steps: readonly string[];
  readonly replayed: boolean;
}

export interface WorkflowsApi {
  create(tenant: string, spec: WorkflowSpec, key: CreateKey | null): Promise<Created>;
  get(tenant: string, id: string): Promise<WorkflowRecord>;
  list(tenant: string, query: WorkflowListQuery): Promise<Page<WorkflowRecord>>;
  summaries(tenant: string, query: WorkflowListQuery): Promise<Page<WorkflowSummaryRecord>>;
  cancel(tenant: string, id: string): Promise<void>;
  /** An ended workflow goes on. */
  resume(tenant: string, id: string, spec: ResumeSpec, idempotencyKey: string | null): Promise<ResumedWorkflow>;
  /** The steps that `resume` would reset. */
  previewResume(tenant: string, id: string, spec: ResumeSpec): Promise<readonly string[]>;
  /** In order of definition. */
  steps(tenant: string, id: string): Promise<readonly WorkflowStepRecord[]>;
  /** Resolves once the first state is known; yields it and every later one that lasts, ending after a final one. */
  watch(tenant: string, id: string, signal: AbortSignal): Promise<AsyncIterable<WorkflowSnapshot>>;
  /** Mermaid text. */
  diagram(tenant: string, id: string): Promise<string>;
}
