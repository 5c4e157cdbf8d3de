import type * as Wire from '../../wire/index.js';
import { Problem } from './problem.js';
import type { FakeStore, StoredWorkflow } from './store.js';
import { enqueueReady, mergeResult, PENDING, stepStatus } from './workflows.js';

const RESUMABLE: readonly Wire.WorkflowStatus[] = ['failed', 'partially_failed', 'cancelled'];

/** The steps that a resume resets, in order of definition: those it begins with, and everything behind them. */
export function stepsToReset(store: FakeStore, workflow: StoredWorkflow, named: readonly string[] | null): string[] {
  const { status, steps } = workflow.record;
  if (!RESUMABLE.includes(status)) throw new Problem('conflict', `the workflow is ${status}`);
  const statusOf = (name: string): Wire.StepStatus => stepStatus(store, workflow.steps.get(name)!);
  for (const name of named ?? [])
    if (!workflow.steps.has(name)) throw new Problem('invalid_request', `"${name}" is not a step of this workflow`);
  const isBroken = (name: string): boolean => ['failed', 'cancelled'].includes(statusOf(name));
  const reset = new Set(named ?? steps.map(({ name }) => name).filter(isBroken));
  for (let before = -1; before < reset.size;) {
    before = reset.size;
    for (const step of steps) if (step.depends_on.some((name) => reset.has(name))) reset.add(step.name);
  }
  const isFine = (name: string): boolean =>
    reset.has(name) || statusOf(name) === 'completed' || workflow.steps.get(name)!.passed;
  // What is behind a step that was left out, and is not named itself, stays left out too.
  for (let before = -1; before !== reset.size;) {
    before = reset.size;
    for (const { name, depends_on: above } of steps)
      if (!named?.includes(name) && above.some((other) => !isFine(other) && statusOf(other) === 'skipped'))
        reset.delete(name);
  }
  for (const step of steps) {
    if (!reset.has(step.name)) continue;
    const stuck = step.depends_on.find((name) => !isFine(name));
    if (stuck !== undefined)
      throw new Problem('invalid_request', `step "${step.name}" depends on "${stuck}", which does not run again`);
  }
  return steps.map(({ name }) => name).filter((name) => reset.has(name));
}

export function resumeWorkflow(store: FakeStore, workflow: StoredWorkflow, given: Wire.ResumeWorkflow): string[] {
  const reset = stepsToReset(store, workflow, given.steps ?? null);
  for (const name of reset) {
    const step = workflow.steps.get(name)!;
    const job = step.jobId === null ? undefined : store.job(step.jobId);
    if (job !== undefined) {
      job.record = { ...job.record, workflow_step_id: null };
      step.earlier.push(job.record.id);
    }
    Object.assign(step, PENDING);
  }
  const { started_at: startedAt } = workflow.record;
  const status = startedAt === null ? 'created' : 'running';
  workflow.record = { ...workflow.record, status, completed_at: null, context: workflow.start };
  const kept = [...workflow.steps].flatMap(([name, { jobId }]) => {
    const job = jobId === null ? undefined : store.job(jobId)?.record;
    return job?.status === 'completed' ? [{ name, job }] : [];
  });
  kept.sort((one, two) => String(one.job.completed_at).localeCompare(String(two.job.completed_at)));
  for (const { name, job } of kept) mergeResult(workflow, name, job.result ?? {});
  workflow.start = { ...workflow.start, ...given.context };
  workflow.record = { ...workflow.record, context: { ...workflow.record.context, ...given.context } };
  enqueueReady(store, workflow);
  store.changed();
  return reset;
}
