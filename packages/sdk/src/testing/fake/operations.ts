import { hasEnded } from '../../records/jobs.js';
import type * as Wire from '../../wire/index.js';
import { checkBody } from './checks.js';
import { copyOf, replayLetter } from './copies.js';
import { hasError, hasMetadata, makeDue, matchesDue } from './job-routes.js';
import { invalid, notFound, Problem } from './problem.js';
import { ok, createOnce, pageByName, parameter, type FakeRequest, type Route } from './request.js';
import { resumeWorkflow } from './resume.js';
import { cancel } from './settle.js';
import { SHAPES } from './shapes.js';
import type { FakeStore, StoredJob, StoredOperation } from './store.js';
import { JOB_STATUSES } from './words.js';

/** Bulk work. What the service does in the background is done here before the answer. */

const CREATED = ['created_after', 'created_before'];
const JOB_FILTERS = [
  ...['status', 'queue', 'due', 'task', 'error', 'metadata', 'workflow_id', 'idempotency_key'],
  ...CREATED,
];
const FILTERS: Readonly<Record<Wire.CreateOperation['action'], readonly string[]>> = {
  cancel_jobs: JOB_FILTERS,
  run_jobs_now: JOB_FILTERS,
  rerun_jobs: JOB_FILTERS,
  replay_dead_letters: ['queue_name', 'task_name', 'reason', 'replayed', 'job_id', 'fingerprint', ...CREATED],
  resume_workflows: ['status', 'name', ...CREATED],
};
const WORKED_ON = {
  ...{ cancel_jobs: 'jobs', run_jobs_now: 'jobs', rerun_jobs: 'jobs' },
  ...{ replay_dead_letters: 'dead letters', resume_workflows: 'workflows' },
};
const SAMPLE = 20;
const BROKEN = ['failed', 'partially_failed'];

/** One thing that an operation works on: how it is shown, and what is done to it. */
interface Item {
  readonly shown: Wire.DryRun['sample'][number];
  /** Whether it changed anything; the id of a job that came of it. */
  readonly act: () => boolean | string;
}

function itemsOf(
  store: FakeStore,
  { action, filter, ids: given, keep_checkpoints: kept }: Wire.CreateOperation,
): Item[] {
  const ids = given ?? null;
  const query = Object.fromEntries(Object.entries(filter ?? {}).map(([name, value]) => [name, String(value)]));
  const is = (name: string, value: string | null): boolean => ids !== null || !query[name] || query[name] === value;
  const inTime = (createdAt: string): boolean => {
    const [after, before] = [parameter.instant(query, 'created_after'), parameter.instant(query, 'created_before')];
    const at = Date.parse(createdAt);
    return (after === null || at >= Date.parse(after)) && (before === null || at < Date.parse(before));
  };
  const isNamed = (id: string): boolean => ids === null || ids.includes(id);
  switch (action) {
    case 'cancel_jobs':
    case 'run_jobs_now':
    case 'rerun_jobs': {
      const wanted = parameter.someOf(query, 'status', JOB_STATUSES);
      const canChange = ({ status }: Wire.Job): boolean =>
        action === 'rerun_jobs'
          ? hasEnded(status)
          : !hasEnded(status) && !(action === 'run_jobs_now' && status === 'running');
      const fits = (job: Wire.Job): boolean =>
        ids !== null || (wanted.length === 0 ? canChange(job) : wanted.includes(job.status));
      const [field] = Object.entries(filter?.metadata ?? {});
      return [...store.jobs.values()]
        .filter(({ record }) => isNamed(record.id) && inTime(record.created_at) && fits(record))
        .filter(({ record }) => is('queue', record.queue_name) && is('task', record.task_name))
        .filter(({ record }) => is('workflow_id', record.workflow_id))
        .filter(({ record }) => is('idempotency_key', record.idempotency_key))
        .filter(({ record }) => filter?.due === undefined || matchesDue(record, filter.due, store.clock.now()))
        .filter(({ record }) => filter?.error === undefined || hasError(record, filter.error))
        .filter(({ record }) => field === undefined || hasMetadata(record, ...field))
        .map((job) => ({
          shown: shownJob(job.record),
          act: () => canChange(job.record) && changed(store, action, job),
        }));
    }
    case 'replay_dead_letters': {
      const replayed = parameter.text(query, 'replayed') === null ? false : parameter.truth(query, 'replayed');
      return store.deadLetters
        .filter((letter) => isNamed(String(letter.id)) && inTime(letter.created_at))
        .filter((letter) => ids !== null || (letter.replayed_at !== null) === replayed)
        .filter((letter) => is('queue_name', letter.queue_name) && is('task_name', letter.task_name))
        .filter((letter) => is('reason', letter.reason) && is('job_id', letter.job_id))
        .filter((letter) => is('fingerprint', letter.fingerprint))
        .map((letter) => ({
          shown: { ...shownJob(letter), id: String(letter.id) },
          act: () => letter.replayed_at === null && replayLetter(store, letter, kept ?? null),
        }));
    }
    case 'resume_workflows':
      return [...store.workflows.values()]
        .filter(({ record }) => isNamed(record.id) && inTime(record.created_at))
        .filter(({ record }) => ids !== null || query.status !== undefined || BROKEN.includes(record.status))
        .filter(({ record }) => is('status', record.status) && is('name', record.name))
        .map((workflow) => ({
          shown: { id: workflow.record.id, name: workflow.record.name, created_at: workflow.record.created_at },
          act: () => unlessConflict(() => done(resumeWorkflow(store, workflow, {}))),
        }));
  }
}

const done = (_: unknown): true => true;

function changed(store: FakeStore, action: Wire.CreateOperation['action'], job: StoredJob): boolean | string {
  if (action === 'rerun_jobs') return copyOf(store, job, { rerun_of: job.record.id }, null);
  if (action === 'cancel_jobs') return done(cancel(store, job));
  const waits = [...job.waits.values()].some(({ open }) => open) || job.dueAt <= store.clock.now();
  return !waits && done(makeDue(store, job));
}

const shownJob = ({ id, task_name, queue_name, created_at }: Wire.Job | Wire.DeadLetter) => ({
  ...{ id: String(id), task_name, queue_name, created_at },
});

function unlessConflict(act: () => boolean): boolean {
  try {
    return act();
  } catch (error) {
    if (error instanceof Problem && error.code === 'conflict') return false;
    throw error;
  }
}

const createOperation: Route = (request) => {
  const { store } = request;
  const body = checkBody<Wire.CreateOperation>(request.body, SHAPES.operation);
  checkSelection(body);
  const items = itemsOf(store, body);
  const matched = { n: items.length, exact: true };
  if (body.dry_run === true) return ok({ matched, sample: items.slice(0, SAMPLE).map(({ shown }) => shown) });
  const reply = createOnce(request, 'operation', () => {
    const said = items.map(({ act }) => act());
    const changed = said.filter((each) => each !== false).length;
    const record: StoredOperation['record'] = {
      ...{ id: store.newId(), action: body.action, filter: body.filter ?? null, matched },
      status: 'completed',
      ...{ done: said.length, changed, skipped: said.length - changed },
      ...{ created_at: store.clock.text(), completed_at: store.clock.text() },
    };
    const replays = said.filter((each) => typeof each === 'string');
    store.operations.set(record.id, { record, replays });
    return { operation_id: record.id };
  });
  return { ...reply, status: 202 };
};

function checkSelection({ action, filter, ids, keep_checkpoints: kept }: Wire.CreateOperation): void {
  if (filter === undefined && !ids) throw invalid('filter', 'is required, unless ids are given');
  if (filter !== undefined && ids) throw invalid('ids', 'cannot be given together with a filter');
  if ((kept ?? false) !== false && action !== 'replay_dead_letters')
    throw invalid('keep_checkpoints', 'goes with replay_dead_letters');
  if (filter === undefined) return;
  const names = Object.keys(filter);
  if (names.length === 0) throw invalid('filter', 'must name at least one condition');
  const unknown = names.find((name) => !FILTERS[action].includes(name));
  if (unknown !== undefined)
    throw invalid(
      `filter.${unknown}`,
      `is not a filter of ${WORKED_ON[action]}; those are ${FILTERS[action].join(', ')}`,
    );
}

/** What became of replayed jobs is told as it is now. */
function shownOperation(store: FakeStore, { record, replays }: StoredOperation): Wire.Operation {
  const states = replays.map((id) => store.job(id)?.record.status ?? 'completed');
  const completed = states.filter((status) => status === 'completed').length;
  const unfinished = states.filter((status) => !hasEnded(status)).length;
  return { ...record, outcome: { completed, failed: states.length - completed - unfinished, unfinished } };
}

function operationAt({ store, params }: FakeRequest): StoredOperation {
  const operation = store.operations.get(params[0] ?? '');
  if (operation === undefined) throw notFound('operation');
  return operation;
}

const list: Route = (request) => {
  const newestFirst = [...request.store.operations.values()].reverse();
  return pageByName(
    request,
    'operations',
    newestFirst.map((each) => shownOperation(request.store, each)),
  );
};

const stop: Route = (request) => {
  const { status } = operationAt(request).record;
  throw new Problem('already_finished', `the operation is already ${status}`);
};

export const operationRoutes: readonly (readonly [string, string, Route])[] = [
  ['POST', '/operations', createOperation],
  ['GET', '/operations', list],
  ['GET', '/operations/:id', (request) => ok(shownOperation(request.store, operationAt(request)))],
  ['POST', '/operations/:id/stop', stop],
];
