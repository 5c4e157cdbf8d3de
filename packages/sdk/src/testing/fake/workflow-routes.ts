import { NEXT_RUNS_LIMITS } from '../../rules/limits.js';
import type * as Wire from '../../wire/index.js';
import { fireCron, nextRuns, putCron, setEnabled } from './crons.js';
import { eventStream, nothing, numberIn, ok, once, page, read, type Exchange, type Route } from './exchange.js';
import { notFound, Problem } from './problem.js';
import { cancel } from './settle.js';
import { checkBody, SHAPES } from './shapes.js';
import type { StoredCron, StoredWorkflow } from './store.js';
import { createWorkflow, stepRecords, stopWorkflow, workflowEnded } from './workflows.js';

const create: Route = (exchange) => {
  const body = checkBody<Wire.CreateWorkflow>(exchange.body, SHAPES.workflow);
  return once(exchange, 'workflow', () => ({ workflow_id: createWorkflow(exchange.store, body).record.id }));
};

function workflowAt({ store, params }: Exchange): StoredWorkflow {
  const workflow = store.workflows.get(params[0] ?? '');
  if (workflow === undefined) throw notFound('workflow');
  return workflow;
}

const listWorkflows: Route = (exchange) => {
  const records = [...exchange.store.workflows.values()].map((workflow) => workflow.record);
  return page(exchange, 'workflows', records, {
    status: (workflow, value) => workflow.status === value,
    name: (workflow, value) => workflow.name === value,
  });
};

const cancelWorkflow: Route = (exchange) => {
  const { store } = exchange;
  const workflow = workflowAt(exchange);
  if (workflowEnded(workflow))
    throw new Problem('already_finished', `the workflow is ${workflow.record.status} already`);
  stopWorkflow(store, workflow, 'cancelled', (job) => cancel(store, job));
  return nothing;
};

const watchWorkflow: Route = (exchange) => {
  const workflow = workflowAt(exchange);
  return eventStream(exchange, () => {
    const record = { workflow: workflow.record, steps: stepRecords(exchange.store, workflow) };
    const version = [workflow.record.status, ...record.steps.map((step) => step.status)].join(' ');
    return { version, record, last: workflowEnded(workflow) };
  });
};

function cronAt({ store, params }: Exchange): StoredCron {
  const cron = store.crons.get(params[0] ?? '');
  if (cron === undefined) throw notFound('cron schedule');
  return cron;
}

const put: Route = ({ store, params, body }) => {
  const { cron, created } = putCron(store, params[0] ?? '', checkBody<Wire.PutCron>(body, SHAPES.cron));
  return { status: created ? 201 : 200, body: { cron_id: cron.record.id } };
};

const BY_NEXT_RUN = 'next_run_at ASC';

const listCrons: Route = (exchange) => {
  const records = [...exchange.store.crons.values()].map((cron) => cron.record);
  if (read.text(exchange.query, 'order_by') === BY_NEXT_RUN) {
    // Pages are turned round, so the last comes first.
    const at = (cron: Wire.Cron): number => (cron.next_run_at === null ? Infinity : Date.parse(cron.next_run_at));
    records.sort((a, b) => at(b) - at(a));
  }
  return page(exchange, 'crons', records, {}, [BY_NEXT_RUN]);
};

const removeCron: Route = (exchange) => {
  exchange.store.crons.delete(cronAt(exchange).record.id);
  return nothing;
};

const enable =
  (enabled: boolean): Route =>
  (exchange) => {
    setEnabled(exchange.store, cronAt(exchange), enabled);
    return nothing;
  };

const next: Route = (exchange) => {
  const count = numberIn(exchange.query, 'count', NEXT_RUNS_LIMITS);
  return ok({ next_run_at: nextRuns(exchange.store, cronAt(exchange).record.cron_expr, count) });
};

const preview: Route = ({ store, query }) => ok({ next: nextRuns(store, read.text(query, 'expr') ?? '', 5) });

const trigger: Route = (exchange) => {
  const cron = cronAt(exchange);
  return once(exchange, 'trigger', () => ({ job_id: fireCron(exchange.store, cron, null) }));
};

const firings: Route = (exchange) => {
  const oldestFirst = [...cronAt(exchange).firings].reverse();
  const listed = oldestFirst.map((firing) => ({ ...firing, created_at: firing.fired_at }));
  const reply = page(exchange, 'firings', listed);
  const body = reply.body as { firings: (Wire.CronFiring & { created_at?: string })[] };
  for (const firing of body.firings) delete firing.created_at;
  return reply;
};

export const workflowRoutes: readonly (readonly [string, string, Route])[] = [
  ['POST', '/workflows', create],
  ['GET', '/workflows', listWorkflows],
  ['GET', '/workflows/:id', (exchange) => ok(workflowAt(exchange).record)],
  ['GET', '/workflows/:id/steps', (exchange) => ok({ steps: stepRecords(exchange.store, workflowAt(exchange)) })],
  ['GET', '/workflows/:id/events', watchWorkflow],
  ['POST', '/workflows/:id/cancel', cancelWorkflow],
  ['GET', '/cron', listCrons],
  ['GET', '/cron/preview', preview],
  ['PUT', '/cron/:name', put],
  ['GET', '/cron/:id', (exchange) => ok(cronAt(exchange).record)],
  ['DELETE', '/cron/:id', removeCron],
  ['POST', '/cron/:id/pause', enable(false)],
  ['POST', '/cron/:id/resume', enable(true)],
  ['GET', '/cron/:id/next', next],
  ['POST', '/cron/:id/trigger', trigger],
  ['GET', '/cron/:id/firings', firings],
];
