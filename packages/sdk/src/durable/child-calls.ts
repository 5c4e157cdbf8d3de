import { ChildFailedError, NonRetryableError, type ChildEnd } from '../errors/handler-errors.js';
import { wholeSeconds } from '../shared/duration.js';
import { configOf, mergePolicies } from '../task/policy.js';
import type { Call } from '../task/types.js';
import type { ChildJob } from '../wire/index.js';

/** Jobs that a job creates and waits for: what is sent, and what comes of it. */

interface StoredEnd {
  readonly name: string;
  readonly job_id: string;
  readonly status: ChildEnd['status'];
  readonly result?: unknown;
  readonly error?: string | null;
  readonly omitted?: boolean;
}

/** The input is checked, and sent as it was given: the worker applies defaults. */
export async function childJob(name: string, { task, input, options }: Call<unknown>): Promise<ChildJob> {
  if (options.key !== undefined)
    throw new NonRetryableError(`the call ${JSON.stringify(name)} has a key; its name says what is the same`);
  await task.check(input);
  const policy = mergePolicies(task.policy, options);
  const { delay, runAt, metadata } = options;
  return {
    name,
    task_name: task.name,
    payload: input,
    config: { queue: policy.queue ?? task.queue, ...configOf(policy, input) },
    ...(runAt !== undefined && { run_at: runAt.toISOString() }),
    ...(runAt === undefined && delay !== undefined && { delay_secs: wholeSeconds(delay) }),
    ...(metadata !== undefined && { metadata }),
  };
}

/** The results of all children, in their order. */
export function resultsOf(name: string, stored: unknown): unknown[] {
  const { children, timed_out: timedOut } = (stored ?? {}) as { children?: StoredEnd[]; timed_out?: boolean };
  const what = JSON.stringify(name);
  if (timedOut === true) throw new ChildFailedError(`${what} did not end in time`, []);
  if (children === undefined)
    throw new NonRetryableError(`${what} was the name of something else before; give the call another one`);
  const failed = children.filter(({ status }) => status !== 'completed').map(endOf);
  if (failed.length > 0) throw new ChildFailedError(sentence(what, failed, children.length), failed);
  const omitted = children.find((child) => child.omitted === true);
  if (omitted !== undefined)
    throw new NonRetryableError(`${what} cannot be kept: there is no room for the result of ${omitted.job_id}`);
  return children.map(({ result }) => result ?? {});
}

const endOf = ({ name, job_id: jobId, status, error = null }: StoredEnd): ChildEnd => ({ name, jobId, status, error });

function sentence(what: string, failed: readonly ChildEnd[], total: number): string {
  const [first] = failed;
  const how = first?.error ?? first?.status ?? '';
  if (total === 1) return `${what} ${first?.status === 'cancelled' ? 'was cancelled' : 'failed'}: ${how}`;
  return `${failed.length} of ${total} of ${what} did not complete; the first: ${how}`;
}
