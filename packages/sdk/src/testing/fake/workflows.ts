import { isObject, type JsonObject } from '../../json/object.js';
import { hasEnded } from '../../records/jobs.js';
import type * as Wire from '../../wire/index.js';
import { invalid, Problem } from './problem.js';
import { DEFAULT_QUEUE, TENANT, type FakeStore, type StoredJob, type StoredWorkflow } from './store.js';

export function createWorkflow(store: FakeStore, given: Wire.CreateWorkflow): StoredWorkflow {
  checkGraph(given.steps);
  const record: Wire.Workflow = {
    id: store.newId(),
    name: given.name,
    status: 'created',
    steps: given.steps.map(definitionOf),
    context: given.context ?? {},
    metadata: given.metadata ?? {},
    created_at: store.clock.text(),
    started_at: null,
    completed_at: null,
    tenant_id: TENANT,
  };
  const workflow: StoredWorkflow = { record, start: record.context, steps: new Map() };
  for (const step of record.steps) workflow.steps.set(step.name, { status: 'pending', jobId: null, earlier: [] });
  store.workflows.set(record.id, workflow);
  enqueueReady(store, workflow);
  return workflow;
}

function definitionOf(step: Wire.WorkflowStepInput): Wire.WorkflowStepDefinition {
  return {
    name: step.name,
    task_name: step.task_name ?? '',
    payload: step.payload ?? {},
    depends_on: [...new Set(step.depends_on ?? [])],
    config: step.config ?? {},
    on_failure: step.on_failure ?? 'halt',
    on_success: 'continue',
    metadata: step.metadata ?? {},
    queue: step.queue ?? null,
  };
}

function checkGraph(steps: readonly Wire.WorkflowStepInput[]): void {
  const names = new Map(steps.map((step) => [step.name, step.depends_on ?? []]));
  steps.forEach((step, index) => {
    if (steps.findIndex((other) => other.name === step.name) !== index) {
      throw invalid(`steps[${index}].name`, 'is used twice');
    }
    for (const other of step.depends_on ?? []) {
      if (!names.has(other)) throw invalid(`steps[${index}].depends_on`, `names an unknown step: ${other}`);
    }
  });
  const done = new Set<string>();
  const walk = (name: string, above: readonly string[]): void => {
    if (above.includes(name))
      throw new Problem('invalid_request', `the steps form a cycle: ${[...above, name].join(' → ')}`);
    if (done.has(name)) return;
    for (const other of names.get(name) ?? []) walk(other, [...above, name]);
    done.add(name);
  };
  for (const name of names.keys()) walk(name, []);
}

/** The state of a step: that of its job, once it has one. */
export function stepStatus(store: FakeStore, step: { status: Wire.StepStatus; jobId: string | null }): Wire.StepStatus {
  const status = step.jobId === null ? undefined : store.job(step.jobId)?.record.status;
  if (status === undefined || step.status === 'skipped') return step.status;
  return status === 'retrying' ? 'running' : status;
}

export function stepRecords(store: FakeStore, workflow: StoredWorkflow): Wire.WorkflowStep[] {
  return [...workflow.steps].map(([name, step]) => {
    const job = step.jobId === null ? undefined : store.job(step.jobId)?.record;
    return {
      name,
      status: stepStatus(store, step),
      job_id: step.jobId,
      started_at: job?.started_at ?? null,
      completed_at: job?.completed_at ?? null,
      attempts: job?.delivery_count ?? 0,
      error_message: job?.error_message ?? null,
      next_retry_at: job?.status === 'retrying' ? job.next_retry_at : null,
      run: step.earlier.length + 1,
      earlier_job_ids: [...step.earlier],
      skipped_by: stepStatus(store, step) === 'skipped' ? 'failure' : null,
    };
  });
}

export const workflowEnded = ({ record: { status } }: StoredWorkflow): boolean =>
  status !== 'created' && status !== 'running';

/** What the end of a step's job means for its workflow. */
export function stepEnded(store: FakeStore, job: StoredJob, cancelJob: (job: StoredJob) => void): void {
  const { workflow_id: id, workflow_step_id: name, status } = job.record;
  const workflow = id === null ? undefined : store.workflows.get(id);
  if (workflow === undefined || name === null || workflowEnded(workflow)) return;
  const definition = workflow.record.steps.find((step) => step.name === name);
  if (status === 'completed') mergeResult(workflow, name, job.record.result ?? {});
  else if (definition?.on_failure === 'halt') return stopWorkflow(store, workflow, 'failed', cancelJob);
  else if (definition?.on_failure === 'skip') skipAfter(workflow, name);
  enqueueReady(store, workflow);
}

/** Ends a workflow: what has not ended is cancelled. */
export function stopWorkflow(
  store: FakeStore,
  workflow: StoredWorkflow,
  status: 'failed' | 'cancelled',
  cancelJob: (job: StoredJob) => void,
): void {
  workflow.record = { ...workflow.record, status, completed_at: store.clock.text() };
  for (const step of workflow.steps.values()) {
    const job = step.jobId === null ? undefined : store.job(step.jobId);
    if (job === undefined) step.status = step.status === 'skipped' ? 'skipped' : 'cancelled';
    else if (!hasEnded(job.record.status)) cancelJob(job);
  }
  store.changed();
}

/** Keys of a result are merged, the result itself is under the name of its step; names of steps win. */
export function mergeResult(workflow: StoredWorkflow, name: string, result: JsonObject): void {
  const { _context, ...keys } = result;
  const named = Object.entries(workflow.record.context).filter(
    ([key]) => workflow.steps.get(key)?.status === 'completed',
  );
  const step = workflow.steps.get(name);
  if (step !== undefined) step.status = 'completed';
  const context = { ...workflow.record.context, ...keys, ...Object.fromEntries(named), [name]: result };
  workflow.record = { ...workflow.record, context };
}

function skipAfter(workflow: StoredWorkflow, name: string): void {
  for (const { name: next, depends_on: above } of workflow.record.steps) {
    const step = workflow.steps.get(next);
    if (!above.includes(name) || step?.jobId !== null || step.status === 'skipped') continue;
    step.status = 'skipped';
    skipAfter(workflow, next);
  }
}

/** Enqueues every step whose dependencies have ended well enough, and ends the workflow when nothing is left. */
export function enqueueReady(store: FakeStore, workflow: StoredWorkflow): void {
  const statusOf = (name: string): Wire.StepStatus =>
    stepStatus(store, workflow.steps.get(name) ?? { status: 'pending', jobId: null });
  for (const definition of workflow.record.steps) {
    const step = workflow.steps.get(definition.name);
    if (step?.jobId !== null || step.status !== 'pending') continue;
    if (!definition.depends_on.every((name) => ['completed', 'failed', 'cancelled'].includes(statusOf(name)))) continue;
    step.jobId = enqueueStep(store, workflow, definition);
  }
  const statuses = [...workflow.steps.keys()].map(statusOf);
  if (statuses.some((status) => status === 'pending' || status === 'running')) return;
  const status = statuses.every((each) => each === 'completed') ? 'completed' : 'partially_failed';
  workflow.record = { ...workflow.record, status, completed_at: store.clock.text() };
  store.changed();
}

function enqueueStep(store: FakeStore, workflow: StoredWorkflow, step: Wire.WorkflowStepDefinition): string {
  const job = store.addJob(
    {
      task_name: step.task_name,
      queue_name: step.queue ?? DEFAULT_QUEUE,
      payload: { ...step.payload, _context: isObject(workflow.record.context) ? workflow.record.context : {} },
      metadata: step.metadata,
      workflow_id: workflow.record.id,
      workflow_step_id: step.name,
    },
    step.config,
    store.clock.now(),
  );
  return job.record.id;
}

/** A workflow runs as soon as one of its steps has started. */
export function markStarted(store: FakeStore, job: StoredJob): void {
  const id = job.record.workflow_id;
  const workflow = id === null ? undefined : store.workflows.get(id);
  if (workflow?.record.status !== 'created') return;
  workflow.record = { ...workflow.record, status: 'running', started_at: store.clock.text() };
  store.changed();
}
