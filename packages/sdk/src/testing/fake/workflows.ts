import { isObject, type JsonObject } from '../../json/object.js';
import { hasEnded } from '../../records/jobs.js';
import { WAITS_QUEUE } from '../../rules/limits.js';
import type * as Wire from '../../wire/index.js';
import { checkedCondition, checkReferences, holds } from './conditions.js';
import { invalid, Problem } from './problem.js';
import { keep } from './checkpoints.js';
import {
  SERVICE_QUEUE,
  TENANT,
  type FakeStore,
  type StoredJob,
  type StoredStep,
  type StoredWorkflow,
} from './store.js';

/** The task and the queue of steps that wait for signals; nobody leases them. */
export const WAIT_TASK = 'millrace:wait';

/** What a step that runs a task has, and one that waits has not. */
const TASK_FIELDS = ['task_name', 'payload', 'queue', 'config'] as const;

export function createWorkflow(store: FakeStore, given: Wire.CreateWorkflow): StoredWorkflow {
  checkGraph(given.steps);
  checkReferences(given.steps);
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
  for (const step of record.steps) workflow.steps.set(step.name, { ...PENDING, earlier: [] });
  store.workflows.set(record.id, workflow);
  enqueueReady(store, workflow);
  return workflow;
}

/** A step whose turn has not come. */
export const PENDING = { status: 'pending', jobId: null, skippedBy: null, passed: false } as const;

function definitionOf(step: Wire.WorkflowStepInput, index: number): Wire.WorkflowStepDefinition {
  const { wait = null, when = null } = step;
  const at = `steps[${index}]`;
  const extra = wait && TASK_FIELDS.find((field) => (step[field] ?? null) !== null);
  if (extra) throw invalid(`${at}.${extra}`, 'must not be given together with wait');
  if (wait === null && !step.task_name) throw invalid(`${at}.task_name`, 'is required, unless the step waits');
  return {
    name: step.name,
    task_name: step.task_name ?? WAIT_TASK,
    payload: step.payload ?? {},
    depends_on: [...new Set(step.depends_on ?? [])],
    config: step.config ?? {},
    on_failure: step.on_failure ?? 'halt',
    on_success: 'continue',
    metadata: step.metadata ?? {},
    ...(when !== null && { when: checkedCondition(when, `${at}.when`) }),
    ...(wait !== null && { wait: shownWait(wait) }),
    queue: wait === null ? (step.queue ?? null) : WAITS_QUEUE,
  };
}

const shownWait = ({ signal, key, timeout_secs, ask, on_timeout }: Wire.StepWait): Wire.StepWait => ({
  ...{ signal, key: key ?? null, timeout_secs },
  ...{ ask: ask ?? null, on_timeout: on_timeout ?? 'fail' },
});

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
  const job = step.jobId === null ? undefined : store.job(step.jobId)?.record;
  if (job === undefined || step.status === 'skipped') return step.status;
  if (job.status === 'retrying' || (job.status === 'pending' && job.task_name === WAIT_TASK)) return 'running';
  return job.status;
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
      skipped_by: step.skippedBy,
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
  else if (definition?.on_failure === 'skip') skipAfter(workflow, name, 'failure');
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

/** What a failure rules out, it rules out although a condition did so before. */
function skipAfter(workflow: StoredWorkflow, name: string, by: Wire.SkipReason): void {
  for (const { name: next, depends_on: above } of workflow.record.steps) {
    const step = workflow.steps.get(next);
    if (!above.includes(name) || step?.jobId !== null) continue;
    if (step.status === 'skipped' && (by === 'condition' || step.skippedBy === 'failure' || step.passed)) continue;
    Object.assign(step, { status: 'skipped', skippedBy: by });
    skipAfter(workflow, next, by);
  }
}

/** Enqueues every step whose dependencies have ended well enough, and ends the workflow when nothing is left. */
export function enqueueReady(store: FakeStore, workflow: StoredWorkflow): void {
  const statusOf = (name: string): Wire.StepStatus => stepStatus(store, workflow.steps.get(name) ?? PENDING);
  const isSatisfied = (name: string): boolean =>
    workflow.steps.get(name)?.passed === true || ['completed', 'failed', 'cancelled'].includes(statusOf(name));
  for (let turn = nextTurn(workflow, isSatisfied); turn !== null; turn = nextTurn(workflow, isSatisfied)) {
    const { definition, step } = turn;
    const { when } = definition;
    if (when === undefined || holds(when, workflow.record.context, (name) => statusOf(name) === 'completed')) {
      step.jobId = enqueueStep(store, workflow, definition);
      continue;
    }
    const passed = when.otherwise === 'continue';
    Object.assign(step, { status: 'skipped', skippedBy: 'condition', passed });
    if (!passed) skipAfter(workflow, definition.name, 'condition');
  }
  const steps = [...workflow.steps].map(([name, { skippedBy }]) => ({ status: statusOf(name), skippedBy }));
  if (steps.some(({ status }) => status === 'pending' || status === 'running')) return;
  // A condition that does not hold is no failure.
  const isFlawless = steps.every((each) => each.status === 'completed' || each.skippedBy === 'condition');
  const status = isFlawless ? 'completed' : 'partially_failed';
  workflow.record = { ...workflow.record, status, completed_at: store.clock.text() };
  store.changed();
}

/** The first step whose turn has come. */
function nextTurn(
  { record, steps }: StoredWorkflow,
  isSatisfied: (name: string) => boolean,
): { definition: Wire.WorkflowStepDefinition; step: StoredStep } | null {
  for (const definition of record.steps) {
    const step = steps.get(definition.name);
    if (step?.jobId !== null || step.status !== 'pending') continue;
    if (definition.depends_on.every(isSatisfied)) return { definition, step };
  }
  return null;
}

function enqueueStep(store: FakeStore, workflow: StoredWorkflow, step: Wire.WorkflowStepDefinition): string {
  const job = store.addJob(
    {
      task_name: step.task_name,
      queue_name: step.queue ?? SERVICE_QUEUE,
      payload: { ...step.payload, _context: isObject(workflow.record.context) ? workflow.record.context : {} },
      metadata: step.metadata,
      workflow_id: workflow.record.id,
      workflow_step_id: step.name,
    },
    step.config,
    store.clock.now(),
  );
  if (step.wait !== undefined) openWait(store, workflow, job, step.wait);
  return job.record.id;
}

/** It takes a signal that is there already; its end is up to endStepWaits. */
function openWait(store: FakeStore, workflow: StoredWorkflow, job: StoredJob, wait: Wire.StepWait): void {
  const { signal, ask = null } = wait;
  const key = wait.key ?? workflow.record.id;
  const now = store.clock.now();
  markStarted(store, job);
  const taken = store.signals.findIndex((each) => each.name === signal && each.key === key && each.endsAt > now);
  if (taken >= 0) {
    const [one] = store.signals.splice(taken, 1);
    keep(store, job, signal, { value: one?.value ?? null });
    return;
  }
  job.dueAt = now + wait.timeout_secs * 1_000;
  const until = store.clock.text(job.dueAt);
  const waiting = { checkpoint: signal, since: store.clock.text(), until, signal, key, ask, children: null };
  job.waits.set(signal, { ...waiting, open: true });
  store.change(job, { waiting_for: waiting, scheduled_at: until });
}

/** A workflow runs as soon as one of its steps has started. */
export function markStarted(store: FakeStore, job: StoredJob): void {
  const id = job.record.workflow_id;
  const workflow = id === null ? undefined : store.workflows.get(id);
  if (workflow?.record.status !== 'created') return;
  workflow.record = { ...workflow.record, status: 'running', started_at: store.clock.text() };
  store.changed();
}
