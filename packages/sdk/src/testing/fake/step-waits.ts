import { isObject } from '../../json/object.js';
import { complete, fail } from './settle.js';
import type { FakeStore, StoredJob } from './store.js';
import { WAIT_TASK } from './workflows.js';

/** Ends every step whose signal has come, or whose time is over, and those that come after it in turn. */
export function endStepWaits(store: FakeStore): void {
  for (let next = due(store); next !== undefined; next = due(store)) end(store, next);
}

const due = (store: FakeStore): StoredJob | undefined =>
  [...store.jobs.values()].find(
    ({ record, dueAt }) => record.task_name === WAIT_TASK && record.status === 'pending' && dueAt <= store.clock.now(),
  );

function end(store: FakeStore, job: StoredJob): void {
  const { workflow_id: id, workflow_step_id: name } = job.record;
  const wait = store.workflows.get(id ?? '')?.record.steps.find((step) => step.name === name)?.wait;
  if (wait === undefined) return fail(store, job, { error: 'the workflow is gone', retryable: false });
  const answer = job.checkpoints.get(wait.signal)?.value as { value?: unknown } | undefined;
  if (answer !== undefined) {
    const { value = null } = answer;
    return complete(store, job, isObject(value) ? value : { value });
  }
  if (wait.on_timeout === 'continue') return complete(store, job, { timed_out: true });
  const error = `no signal ${JSON.stringify(wait.signal)} came within ${wait.timeout_secs} s`;
  fail(store, job, { error, retryable: false, outcome: 'timed_out' });
}
