import { hasEnded } from '../../records/jobs.js';
import { KEY_FIELD, KEY_HEADER, keyOf } from '../../rules/index.js';
import { WAIT_LIMITS } from '../../rules/limits.js';
import type * as Wire from '../../wire/index.js';
import {
  clamp,
  created,
  eventStream,
  nothing,
  ok,
  createOnce,
  page,
  parameter,
  type FakeRequest,
  type Reply,
  type Route,
} from './request.js';
import { invalid, notFound, Problem } from './problem.js';
import { copyOf, replayLetter, type Kept } from './copies.js';
import { cancel } from './settle.js';
import { checkBody } from './checks.js';
import { SHAPES } from './shapes.js';
import { addJob, type Added } from './new-job.js';
import type { FakeStore, StoredJob } from './store.js';
import { explain } from './why.js';
import { JOB_STATUSES } from './words.js';

const createJob: Route = (request) => {
  const body = checkBody<Wire.CreateJob>(request.body, SHAPES.job);
  let existing = false;
  const reply = createOnce(request, 'job', (key) => {
    const added = addJob(request.store, body, key);
    existing = added.existing;
    return { job_id: added.id };
  });
  return existing ? { ...reply, status: 200, headers: { ...reply.headers, 'millrace-existing': 'true' } } : reply;
};

const createBatch: Route = (request) => {
  const { jobs } = checkBody<Wire.CreateJobBatch>(request.body, SHAPES.batch);
  const keys = jobs.map(({ idempotency_key: key }, n) => keyOf(key ?? '', `jobs[${n}].${KEY_FIELD}`, invalid));
  if (keys.some((key) => key !== null)) return createItems(request, jobs, keys);
  return createOnce(request, 'batch', () => {
    const added = jobs.map((job) => addJob(request.store, job, null));
    return { job_ids: added.map(({ id }) => id), count: added.length, ...existingOf(jobs, added) };
  });
};

/** A batch whose jobs have keys of their own: nothing is created if one of them is of another kind. */
function createItems({ store, headers }: FakeRequest, jobs: readonly Wire.CreateJob[], keys: (string | null)[]): Reply {
  const first = keys.findIndex((key) => key !== null);
  if (keyOf(headers.get(KEY_HEADER) ?? '', KEY_HEADER, invalid) !== null)
    throw invalid(`jobs[${first}].${KEY_FIELD}`, `must not be given together with the header ${KEY_HEADER}`);
  const other = keys.findIndex((key) => key !== null && (store.keys.get(key)?.kind ?? 'job') !== 'job');
  if (other >= 0) throw new Problem('conflict', `jobs[${other}].idempotency_key was used for another kind of request`);
  const replayed: number[] = [];
  const added = jobs.map((job, n): Added => {
    const key = keys[n] ?? null;
    const before = key === null ? undefined : store.keys.get(key);
    if (before !== undefined) {
      replayed.push(n);
      return { id: (before.answer as Wire.JobCreated).job_id, existing: false };
    }
    const one = addJob(store, job, key);
    if (key !== null) store.keys.set(key, { kind: 'job', answer: { job_id: one.id } });
    return one;
  });
  const job_ids = added.map(({ id }) => id);
  return created({ job_ids, count: added.length, replayed, ...existingOf(jobs, added) });
}

/** The positions of unique jobs that were there. */
function existingOf(jobs: readonly Wire.CreateJob[], added: readonly Added[]): { existing?: number[] } {
  if (!jobs.some(({ config }) => (config?.unique ?? null) !== null)) return {};
  return { existing: added.flatMap(({ existing }, n) => (existing ? [n] : [])) };
}

export function jobAt({ store, params }: FakeRequest): StoredJob {
  const job = store.job(params[0] ?? '');
  if (job === undefined) throw notFound('job');
  return job;
}

const getJob: Route = async (request) => {
  const { store, query, signal } = request;
  const job = jobAt(request);
  const wait = parameter.wholeNumber(query, 'wait_secs', WAIT_LIMITS);
  if (wait > 0) await store.until(() => hasEnded(job.record.status), store.clock.now() + wait * 1_000, signal);
  return ok(job.record);
};

/** Of a failed or retrying job. */
export const hasError = ({ status, error_message: error }: Pick<Wire.Job, 'status' | 'error_message'>, text: string) =>
  (status === 'failed' || status === 'retrying') && (error ?? '').toLowerCase().includes(text.toLowerCase());

/** Whether a job that waits is due, or is not yet; one that does not wait is neither. */
export const matchesDue = (
  { status, scheduled_at: at }: Pick<Wire.Job, 'status' | 'scheduled_at'>,
  due: boolean,
  now: number,
) => (status === 'pending' || status === 'retrying') && Date.parse(at) <= now === due;

export function hasMetadata({ metadata }: Pick<Wire.Job, 'metadata'>, field: string, value: string): boolean {
  const found = metadata[field];
  return found !== undefined && (typeof found === 'string' ? found : JSON.stringify(found)) === value;
}

const METADATA = 'metadata.';

const metadataFilters = (query: FakeRequest['query']) =>
  Object.fromEntries(
    Object.keys(query)
      .filter((name) => name.startsWith(METADATA))
      .map((name) => [
        name,
        (job: Pick<Wire.Job, 'metadata'>, value: string) => hasMetadata(job, name.slice(METADATA.length), value),
      ]),
  );

const listJobs: Route = (request) => {
  const statuses = parameter.someOf(request.query, 'status', JOB_STATUSES);
  const records = [...request.store.jobs.values()].map(({ record: { error_details: _, ...record } }) => record);
  return page(request, 'jobs', records, {
    status: (job) => statuses.includes(job.status),
    queue: (job, value) => job.queue_name === value,
    task: (job, value) => job.task_name === value,
    due: (job) => matchesDue(job, parameter.truth(request.query, 'due'), request.store.clock.now()),
    error: hasError,
    ...metadataFilters(request.query),
    workflow_id: (job, value) => job.workflow_id === value,
    idempotency_key: (job, value) => job.idempotency_key === value,
    parent_job_id: (job, value) => job.parent_job_id === value,
  });
};

const cancelJob: Route = (request) => {
  const job = jobAt(request);
  if (hasEnded(job.record.status)) throw new Problem('already_finished', `the job is ${job.record.status} already`);
  cancel(request.store, job);
  return nothing;
};

const runNow: Route = (request) => {
  makeDue(request.store, jobAt(request));
  return nothing;
};

/** @throws Problem if it cannot be */
export function makeDue(store: FakeStore, job: StoredJob): void {
  const { status } = job.record;
  if (hasEnded(status)) throw new Problem('already_finished', `the job is ${status} already`);
  if (status === 'running') throw new Problem('conflict', 'the job is running');
  const wait = [...job.waits.values()].find(({ open }) => open);
  if (wait && wait.signal !== null) throw new Problem('conflict', 'the job waits for a signal');
  if (wait && wait.children !== null) throw new Problem('conflict', 'the job waits for its children');
  if (wait) wait.until = store.clock.text();
  job.dueAt = store.clock.now();
  if (job.record.delivery_count === 0) job.firstDueAt = job.dueAt;
  const text = store.clock.text();
  store.change(job, { scheduled_at: text, next_retry_at: status === 'retrying' ? text : null });
}

const keptBy = ({ body }: FakeRequest): Kept =>
  checkBody<Wire.ReplayRequest>(body ?? {}, SHAPES.replay).keep_checkpoints;

const rerun: Route = (request) => {
  const job = jobAt(request);
  return createOnce(request, 'rerun', () => ({
    job_id: copyOf(request.store, job, { rerun_of: job.record.id }, keptBy(request)),
  }));
};

const attempts: Route = (request) => {
  const { firstDueAt, attempts: all } = jobAt(request);
  return ok({ first_due_at: request.store.clock.text(firstDueAt), attempts: all, omitted: 0 });
};

const wait: Route = async ({ store, body, signal }) => {
  const given = checkBody<Wire.WaitRequest>(body, SHAPES.wait);
  const ids = [...new Set(given.job_ids)];
  const ended = (id: string): boolean => hasEnded(store.job(id)?.record.status ?? 'completed');
  const done = (): boolean => (given.until === 'any' ? ids.some(ended) : ids.every(ended));
  await store.until(done, store.clock.now() + clamp(given.wait_secs, WAIT_LIMITS) * 1_000, signal);
  const known = ids.filter((id) => store.job(id) !== undefined);
  return ok({
    ended: known.filter(ended).map((id) => ({ id, status: store.job(id)?.record.status })),
    pending: known.filter((id) => !ended(id)),
    missing: ids.filter((id) => store.job(id) === undefined),
  });
};

const watchJob: Route = (request) => {
  const job = jobAt(request);
  return eventStream(request, () => {
    const { record } = job;
    const version = `${record.status} ${record.delivery_count}`;
    return { version, record, progress: record.progress, last: hasEnded(record.status) };
  });
};

function letterAt({ store, params }: FakeRequest): Wire.DeadLetter {
  const letter = store.deadLetters.find(({ id }) => String(id) === params[0]);
  if (letter === undefined) throw notFound('dead letter');
  return letter;
}

const listLetters: Route = (request) =>
  page(request, 'dead_letters', request.store.deadLetters, {
    queue_name: (letter, value) => letter.queue_name === value,
    task_name: (letter, value) => letter.task_name === value,
    reason: (letter, value) => letter.reason === value,
    replayed: (letter, value) => (letter.replayed_at !== null) === (value === 'true'),
    job_id: (letter, value) => letter.job_id === value,
    fingerprint: (letter, value) => letter.fingerprint === value,
  });

const replay: Route = (request) => {
  const letter = letterAt(request);
  return createOnce(request, 'replay', () => ({ job_id: replayLetter(request.store, letter, keptBy(request)) }));
};

export const jobRoutes: readonly (readonly [string, string, Route])[] = [
  ['POST', '/jobs', createJob],
  ['POST', '/jobs/batch', createBatch],
  ['POST', '/jobs/wait', wait],
  ['GET', '/jobs', listJobs],
  ['GET', '/jobs/:id', getJob],
  ['GET', '/jobs/:id/events', watchJob],
  ['POST', '/jobs/:id/cancel', cancelJob],
  ['POST', '/jobs/:id/run-now', runNow],
  ['POST', '/jobs/:id/rerun', rerun],
  ['GET', '/jobs/:id/attempts', attempts],
  ['GET', '/jobs/:id/why', (request) => ok(explain(request.store, jobAt(request)))],
  ['GET', '/dlq', listLetters],
  ['GET', '/dlq/:id', (request) => ok(letterAt(request))],
  ['POST', '/dlq/:id/replay', replay],
];
