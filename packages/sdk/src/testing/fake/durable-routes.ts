import { hasEnded } from '../../records/jobs.js';
import type * as Wire from '../../wire/index.js';
import { SIGNAL_TTL_LIMITS } from '../../rules/limits.js';
import { keep } from './checkpoints.js';
import { sendSignal, suspendJob } from './durable.js';
import { addChildren } from './new-job.js';
import { created, nothing, ok, createOnce, parameter, type FakeRequest, type Route } from './request.js';
import { invalid, notFound, Problem } from './problem.js';
import { keepLogs } from './logs.js';
import { held } from './settle.js';
import { checkBody } from './checks.js';
import { SHAPES } from './shapes.js';
import type { StoredJob } from './store.js';
import { workflowEnded } from './workflows.js';

const store: Route = (exchange) => {
  const { params, body } = exchange;
  const given = checkBody<Wire.CheckpointRequest>(body, SHAPES.checkpoint);
  if (given.value === undefined) throw invalid('value', 'is required');
  const job = held(exchange.store, params[0] ?? '', given.lease_token);
  if (job === null) throw new Problem('lease_lost', 'the lease is no longer held');
  const { value, isNew } = keep(exchange.store, job, given.name, given.value);
  return (isNew ? created : ok)({ name: given.name, value });
};

const list: Route = ({ store: { jobs }, params, headers }) => {
  const job = jobs.get(params[0] ?? '');
  if (job === undefined) throw notFound('job');
  const token = headers.get('lease-token');
  if (token !== null && token !== job.leaseToken) throw new Problem('lease_lost', 'the lease is no longer held');
  return ok({
    checkpoints: [...job.checkpoints.values()],
    waits: [...job.waits.values()].map(({ checkpoint, until }) => ({ name: checkpoint, until })),
  });
};

const suspend: Route = ({ store: all, params, body }) => {
  const given = checkBody<Wire.SuspendRequest>(body, SHAPES.suspend);
  const job = held(all, params[0] ?? '', given.lease_token);
  if (job === null) return nothing;
  keepLogs(all, job, given.logs);
  suspendJob(all, job, suspensionOf(given));
  return nothing;
};

/** Either an instant or a delay. */
export function suspensionOf(given: Partial<Wire.SuspendRequest>): Parameters<typeof suspendJob>[2] {
  const { checkpoint, until, delay_secs: delay, wait } = given;
  if (checkpoint === undefined) throw invalid('checkpoint', 'is required');
  if ((typeof until === 'string') === (typeof delay === 'number'))
    throw invalid('until', 'or delay_secs is required, and not both');
  if (wait && (wait.signal === undefined) === (wait.children === undefined))
    throw invalid('wait', 'must have either a signal or children');
  return { checkpoint, ...(until ? { until } : { delay_secs: delay ?? 0 }), ...(wait && { wait }) };
}

const children: Route = ({ store: all, params, body }) => {
  const { lease_token: token, jobs } = checkBody<Wire.ChildrenRequest>(body, SHAPES.children);
  const twice = jobs.findIndex(({ name }, n) => jobs.findIndex((other) => other.name === name) < n);
  if (twice >= 0) throw invalid(`jobs[${twice}].name`, 'is the name of another child in this request');
  const unique = jobs.findIndex(({ config }) => (config?.unique ?? null) !== null);
  if (unique >= 0)
    throw invalid(
      `jobs[${unique}].config.unique`,
      'is not possible for a child: it is created once per parent and name',
    );
  const parent = held(all, params[0] ?? '', token);
  if (parent === null) throw new Problem('lease_lost', 'the lease is no longer held');
  const ids = addChildren(all, parent, jobs);
  return created({ job_ids: ids });
};

const accepted = (exchange: FakeRequest, kind: string, send: () => boolean): ReturnType<typeof createOnce> => ({
  ...createOnce(exchange, kind, () => ({ delivered: send() })),
  status: 202,
});

const signal: Route = (exchange) => {
  const given = checkBody<Wire.SignalRequest>(exchange.body, SHAPES.signal);
  const { name, key, value = null, ttl_secs: ttl } = given;
  const endsAt = exchange.store.clock.now() + (ttl ?? SIGNAL_TTL_LIMITS.default) * 1_000;
  return accepted(exchange, `signal ${name} ${key}`, () => sendSignal(exchange.store, { name, key, value, endsAt }));
};

const signalJob: Route = (exchange) => {
  const [id = '', name = ''] = exchange.params;
  const job = exchange.store.jobs.get(id);
  if (job === undefined) throw notFound('job');
  if (hasEnded(job.record.status)) throw new Problem('already_finished', `the job is already ${job.record.status}`);
  const { value = null } = checkBody<Wire.JobSignalRequest>(exchange.body ?? {}, SHAPES.jobSignal);
  const one = { name, key: id, value, endsAt: Infinity };
  return accepted(exchange, `signal ${name} ${id}`, () => sendSignal(exchange.store, one));
};

const signalWorkflow: Route = (exchange) => {
  const [id = '', name = ''] = exchange.params;
  const workflow = exchange.store.workflows.get(id);
  if (workflow === undefined) throw notFound('workflow');
  if (workflowEnded(workflow))
    throw new Problem('already_finished', `the workflow is already ${workflow.record.status}`);
  const { value = null } = checkBody<Wire.JobSignalRequest>(exchange.body ?? {}, SHAPES.jobSignal);
  const one = { name, key: id, value, endsAt: Infinity };
  return accepted(exchange, `signal ${name} ${id}`, () => sendSignal(exchange.store, one));
};

const waits: Route = ({ store: { jobs }, query }) => {
  const [name, key, asks] = [
    parameter.text(query, 'name'),
    parameter.text(query, 'key'),
    parameter.truth(query, 'ask'),
  ];
  const found = [...jobs.values()]
    .filter(({ record }) => !hasEnded(record.status))
    .flatMap((job) => [...job.waits.values()].filter((wait) => wait.open).map((wait) => waitOf(job, wait)))
    .filter((wait) => wait.name !== null && (name === null || wait.name === name) && (key === null || wait.key === key))
    .filter((wait) => !asks || wait.ask !== null);
  return ok({ waits: found.toReversed(), has_more: false });
};

const waitOf = ({ record }: StoredJob, { signal: name, key, ask, since, until }: Wire.WaitingFor) => ({
  ...{ job_id: record.id, task_name: record.task_name, name, key, ask },
  ...{ since, until, workflow_id: record.workflow_id, workflow_step_id: record.workflow_step_id },
});

export const durableRoutes: readonly (readonly [string, string, Route])[] = [
  ['POST', '/jobs/:id/checkpoints', store],
  ['GET', '/jobs/:id/checkpoints', list],
  ['POST', '/jobs/:id/suspend', suspend],
  ['POST', '/jobs/:id/children', children],
  ['POST', '/jobs/:id/signals/:name', signalJob],
  ['POST', '/workflows/:id/signals/:name', signalWorkflow],
  ['POST', '/signals', signal],
  ['GET', '/waits', waits],
];
