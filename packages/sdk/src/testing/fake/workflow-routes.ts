import { NEXT_RUNS_LIMITS } from '../../rules/limits.js';
import type * as Wire from '../../wire/index.js';
import { firstOf, timetableOf } from './cron-expression.js';
import { fireCron, nextRuns, putCron, setEnabled, timesOf } from './crons.js';
import {
  eventStream,
  nothing,
  numberIn,
  ok,
  createOnce,
  page,
  parameter,
  type FakeRequest,
  type Route,
} from './request.js';
import { invalid, notFound, Problem } from './problem.js';
import { resumeWorkflow, stepsToReset } from './resume.js';
import { cancel } from './settle.js';
import { checkBody } from './checks.js';
import { SHAPES } from './shapes.js';
import type { StoredCron, StoredWorkflow } from './store.js';
import { createWorkflow, stepRecords, stopWorkflow, workflowEnded } from './workflows.js';

const create: Route = (request) => {
  const body = checkBody<Wire.CreateWorkflow>(request.body, SHAPES.workflow);
  return createOnce(request, 'workflow', () => ({ workflow_id: createWorkflow(request.store, body).record.id }));
};

function workflowAt({ store, params }: FakeRequest): StoredWorkflow {
  const workflow = store.workflows.get(params[0] ?? '');
  if (workflow === undefined) throw notFound('workflow');
  return workflow;
}

const listWorkflows: Route = (request) => {
  const records = [...request.store.workflows.values()].map((workflow) => workflow.record);
  return page(request, 'workflows', records, {
    status: (workflow, value) => workflow.status === value,
    name: (workflow, value) => workflow.name === value,
  });
};

const cancelWorkflow: Route = (request) => {
  const { store } = request;
  const workflow = workflowAt(request);
  if (workflowEnded(workflow))
    throw new Problem('already_finished', `the workflow is ${workflow.record.status} already`);
  stopWorkflow(store, workflow, 'cancelled', (job) => cancel(store, job));
  return nothing;
};

const resume: Route = (request) => {
  const { store } = request;
  const workflow = workflowAt(request);
  const { id } = workflow.record;
  const body = checkBody<Wire.ResumeWorkflow>(request.body ?? {}, SHAPES.resume);
  if (body.dry_run === true) return ok({ workflow_id: id, steps: stepsToReset(store, workflow, body.steps ?? null) });
  const reply = createOnce(request, `resume ${id}`, () => ({
    workflow_id: id,
    steps: resumeWorkflow(store, workflow, body),
  }));
  return { ...reply, status: 202 };
};

const watchWorkflow: Route = (request) => {
  const workflow = workflowAt(request);
  return eventStream(request, () => {
    const record = { workflow: workflow.record, steps: stepRecords(request.store, workflow) };
    const version = [workflow.record.status, ...record.steps.map((step) => step.status)].join(' ');
    return { version, record, last: workflowEnded(workflow) };
  });
};

function cronAt({ store, params }: FakeRequest): StoredCron {
  const cron = store.crons.get(params[0] ?? '');
  if (cron === undefined) throw notFound('cron schedule');
  return cron;
}

const put: Route = ({ store, params, body }) => {
  const { cron, created } = putCron(store, params[0] ?? '', checkBody<Wire.PutCron>(body, SHAPES.cron));
  return { status: created ? 201 : 200, body: { cron_id: cron.record.id } };
};

const BY_NEXT_RUN = 'next_run_at ASC';

const listCrons: Route = (request) => {
  const records = [...request.store.crons.values()].map((cron) => cron.record);
  if (parameter.text(request.query, 'order_by') === BY_NEXT_RUN) {
    // Pages are turned round, so the last comes first.
    const at = (cron: Wire.Cron): number => (cron.next_run_at === null ? Infinity : Date.parse(cron.next_run_at));
    records.sort((a, b) => at(b) - at(a));
  }
  return page(request, 'crons', records, {}, [BY_NEXT_RUN]);
};

const removeCron: Route = (request) => {
  request.store.crons.delete(cronAt(request).record.id);
  return nothing;
};

const enable =
  (enabled: boolean): Route =>
  (request) => {
    setEnabled(request.store, cronAt(request), enabled);
    return nothing;
  };

const next: Route = (request) => {
  const count = numberIn(request.query, 'count', NEXT_RUNS_LIMITS);
  return ok({ next_run_at: nextRuns(request.store, timesOf(cronAt(request).record), count) });
};

const preview: Route = ({ store, query }) => {
  const expression = parameter.text(query, 'expr');
  if (expression === null) throw invalid('expr', 'is required');
  const timetable = timetableOf(expression, parameter.text(query, 'timezone') ?? undefined, 'expr');
  firstOf(timetable, store.clock.now(), 'expr');
  return ok({ next: nextRuns(store, timetable, 5) });
};

const trigger: Route = (request) => {
  const cron = cronAt(request);
  return createOnce(request, 'trigger', () => fireCron(request.store, cron, null));
};

const firings: Route = (request) => {
  const oldestFirst = [...cronAt(request).firings].reverse();
  const listed = oldestFirst.map((firing) => ({ ...firing, created_at: firing.fired_at }));
  const reply = page(request, 'firings', listed);
  const body = reply.body as { firings: (Wire.CronFiring & { created_at?: string })[] };
  for (const firing of body.firings) delete firing.created_at;
  return reply;
};

export const workflowRoutes: readonly (readonly [string, string, Route])[] = [
  ['POST', '/workflows', create],
  ['GET', '/workflows', listWorkflows],
  ['GET', '/workflows/:id', (request) => ok(workflowAt(request).record)],
  ['GET', '/workflows/:id/steps', (request) => ok({ steps: stepRecords(request.store, workflowAt(request)) })],
  ['GET', '/workflows/:id/events', watchWorkflow],
  ['POST', '/workflows/:id/cancel', cancelWorkflow],
  ['POST', '/workflows/:id/resume', resume],
  ['GET', '/cron', listCrons],
  ['GET', '/cron/preview', preview],
  ['PUT', '/cron/:name', put],
  ['GET', '/cron/:id', (request) => ok(cronAt(request).record)],
  ['DELETE', '/cron/:id', removeCron],
  ['POST', '/cron/:id/pause', enable(false)],
  ['POST', '/cron/:id/resume', enable(true)],
  ['GET', '/cron/:id/next', next],
  ['POST', '/cron/:id/trigger', trigger],
  ['GET', '/cron/:id/firings', firings],
];
