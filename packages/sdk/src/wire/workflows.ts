/** Workflows and their steps. */
import type { JsonObject } from '../json/object.js';
import type { PageFields } from './common.js';
import type { PartialJobConfig } from './jobs.js';

/** The states of a workflow. */
export type WorkflowStatus = 'created' | 'running' | 'completed' | 'failed' | 'partially_failed' | 'cancelled';
/** The states of a step. */
export type StepStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'skipped';
/** What the failure of a step means for its workflow: it fails, what follows is skipped, or it goes on. */
export type OnFailure = 'halt' | 'skip' | 'continue';

export interface WorkflowStepInput {
  name: string;
  task_name: string;
  payload?: JsonObject | null;
  depends_on?: string[] | null;
  queue?: string | null;
  config?: PartialJobConfig | null;
  on_failure?: OnFailure | null;
  on_success?: 'continue' | null;
  metadata?: JsonObject | null;
}

export interface CreateWorkflow {
  name: string;
  steps: WorkflowStepInput[];
  context?: JsonObject | null;
  metadata?: JsonObject | null;
}

export interface WorkflowCreated {
  workflow_id: string;
  warnings?: string[];
}

export interface WorkflowStepDefinition {
  name: string;
  task_name: string;
  payload: JsonObject;
  depends_on: string[];
  config: PartialJobConfig;
  on_failure: OnFailure;
  on_success: 'continue';
  metadata: JsonObject;
  queue: string | null;
}

export interface Workflow {
  id: string;
  name: string;
  status: WorkflowStatus;
  steps: WorkflowStepDefinition[];
  context: JsonObject;
  metadata: JsonObject;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  tenant_id: string;
}

export interface WorkflowPage extends PageFields {
  workflows: Workflow[];
  searched_to?: string;
}

export interface WorkflowStep {
  name: string;
  status: StepStatus;
  job_id: string | null;
  started_at: string | null;
  completed_at: string | null;
  attempts: number;
  error_message: string | null;
  run: number;
  earlier_job_ids: string[];
}

export interface WorkflowSteps {
  steps: WorkflowStep[];
}

export interface WorkflowEvent {
  workflow: Workflow;
  steps: WorkflowStep[];
}

export interface ResumeWorkflow {
  steps?: string[] | null;
  context?: JsonObject | null;
  dry_run?: boolean | null;
}

export interface WorkflowResumed {
  workflow_id: string;
  steps: string[];
  warnings?: string[];
}

export interface WorkflowDiagram {
  format: 'mermaid';
  diagram: string;
}
