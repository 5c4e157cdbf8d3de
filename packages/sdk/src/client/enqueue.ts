import { InvalidRequestError } from '../errors/call-errors.js';
import { wholeSeconds } from '../shared/duration.js';
import { uuid7 } from '../shared/uuid7.js';
import type { JsonObject } from '../json/object.js';
import { configOf, mergePolicies, type EnqueueOptions } from '../task/policy.js';
import type { AnyTask, Call, JobHandle } from '../task/types.js';
import type * as Wire from '../wire/index.js';
import { jobHandle } from './job-handle.js';
import { create, type Session } from './session.js';

/** How many jobs one call may create. */
const MOST_JOBS = 1_000;

export async function enqueue(
  session: Session,
  task: AnyTask,
  input: JsonObject,
  options: EnqueueOptions,
): Promise<JobHandle<unknown>> {
  const body = await jobBody(session, { task, input, options });
  const { key, signal } = options;
  const created = await create<Wire.JobCreated>(session, { path: '/jobs', body, key, signal });
  return jobHandle(session, created.job_id);
}

export async function enqueueMany(
  session: Session,
  calls: readonly Call<unknown>[],
  { key, signal }: { key?: string; signal?: AbortSignal } = {},
): Promise<JobHandle<unknown>[]> {
  if (calls.length === 0) return [];
  if (calls.length > MOST_JOBS) throw refused(`a batch has at most ${MOST_JOBS} jobs, not ${calls.length}`);
  const keyed = calls.findIndex((call) => call.options.key !== undefined);
  if (keyed >= 0 && key !== undefined)
    throw refused(`the call ${keyed} has a key, and so has the batch: give either the calls keys or enqueueMany one`);
  if (calls.some((call) => call.options.key === '')) throw refused('a key must not be empty');
  const jobs = await Promise.all(calls.map((call) => jobBody(session, call)));
  const created = await create<Wire.JobBatchCreated>(session, {
    path: '/jobs/batch',
    signal,
    ...(keyed < 0
      ? { body: { jobs }, key, keyFeature: 'idempotency' }
      : { body: { jobs: withKeys(jobs, calls) }, key: null, keyFeature: 'item_keys' }),
  });
  return created.job_ids.map((id) => jobHandle(session, id));
}

/** Each job under a key: that of its call, or one of its own, so that the batch can be repeated. */
const withKeys = (jobs: readonly Wire.CreateJob[], calls: readonly Call<unknown>[]): Wire.CreateJob[] =>
  jobs.map((job, n) => ({ ...job, idempotency_key: calls[n]?.options.key ?? uuid7() }));

const refused = (message: string): InvalidRequestError => new InvalidRequestError(message, { code: 'invalid_request' });

/** The body that creates one job. The input is checked, and sent as it was given: the worker applies defaults. */
async function jobBody(session: Session, { task, input, options }: Call<unknown>): Promise<Wire.CreateJob> {
  await task.check(input);
  const policy = mergePolicies(task.policy, options);
  const metadata = withHook(session, task.name, options.metadata ?? {});
  return {
    task_name: task.name,
    payload: input,
    config: { queue: policy.queue ?? task.queue, ...configOf(policy, input) },
    ...(await when(session, options)),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** Metadata, with what the hook adds. */
export function withHook(session: Session, task: string, metadata: JsonObject): JsonObject {
  return { ...metadata, ...session.hooks.onEnqueue?.({ task, metadata }) };
}

/** A server before 0.3 knows no delay: it is told an instant by this machine's clock. */
async function when(
  session: Session,
  { delay, runAt }: EnqueueOptions,
): Promise<Pick<Wire.CreateJob, 'run_at' | 'delay_secs'>> {
  if (runAt !== undefined) return { run_at: runAt.toISOString() };
  if (delay === undefined) return {};
  const seconds = wholeSeconds(delay);
  if (await session.features.any()) return { delay_secs: seconds };
  return { run_at: new Date(Date.now() + seconds * 1_000).toISOString() };
}
