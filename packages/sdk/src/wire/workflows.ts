/** Workflows and their steps. */
import type { JsonObject } from '../json/object.js';
import type { PageFields } from './common.js';
import type { Ask } from './durable.js';
import type { PartialJobConfig } from './jobs.js';

/** The states of a workflow. */
export type WorkflowStatus = 'created' | 'running' | 'completed' | 'failed' | 'partially_failed' | 'cancelled';
/** The states of a step. */
export type StepStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'skipped';
/** What the failure of a step means for its workflow: it fails, what follows is skipped, or it goes on. */
export type OnFailure = 'halt' | 'skip' | 'continue';

/** What becomes of the steps behind one whose condition does not hold. */
export type Otherwise = 'skip' | 'continue';
/** What happens if no signal comes in time. */
export type OnTimeout = 'fail' | 'continue';
/** What a condition compares with. */
export type Scalar = string | number | boolean | null;
/** Why a step was skipped. */
export type SkipReason = 'condition' | 'failure';

export interface StepCondition {
  ref: { $step?: string | null; path?: string[] | null };
  is?: Scalar;
  is_not?: Scalar;
  in?: Scalar[] | null;
  otherwise?: Otherwise | null;
}

export interface StepWait {
  signal: string;
  key?: string | null;
  timeout_secs: number;
  ask?: Ask | null;
  on_timeout?: OnTimeout | null;
}

export interface WorkflowStepInput {
  name: string;
  task_name?: string | null;
  when?: StepCondition | null;
  wait?: StepWait | null;
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
  when?: StepCondition;
  wait?: StepWait;
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
  next_retry_at: string | null;
  run: number;
  earlier_job_ids: string[];
  skipped_by: SkipReason | null;
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
