import {
  CreateCron,
  Cron,
  CronCreated,
  CronFiringPage,
  CronListQuery,
  CronNameParams,
  CronPage,
  CronPreview,
  CronPreviewQuery,
  CronTriggered,
  IdempotentHeaders,
  IdParams,
  ListQuery,
  NextRuns,
  NextRunsQuery,
  PREVIEW_COUNT,
  PutCron,
  ref,
} from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { HttpContext } from '../context.js';
import { cronSpec, putCronSpec } from '../requests/cron-input.js';
import { idempotencyKey } from '../requests/idempotency-key.js';
import {
  cronListQuery,
  listQuery,
  nextRunsCount,
  previewTimetable,
  type QueryParameters,
} from '../requests/list-parameters.js';
import { sendPage } from '../answers/page.js';
import { sendCreated, sendJson, sendNothing } from '../answers/reply.js';
import { bodyErrors, described, errors, JOB_LOCATION, nothing, REPLAYED, tagged, TENANT, vital } from './route-docs.js';
import { cronJson } from '../answers/serialize.js';
import { boundScheduledSteps } from '../requests/workflow-input.js';

interface ById {
  Params: { id: string };
}

interface ByIdWithQuery extends ById {
  Querystring: QueryParameters;
}

export function cronRoutes(app: FastifyInstance, context: HttpContext): void {
  const { engine } = context;

  app.get<{ Querystring: QueryParameters }>('/cron', { schema: listSchema }, async (request, reply) => {
    const query = cronListQuery(request.query);
    const page = await engine.crons.list(request.tenant, query);
    return sendPage(request, reply, context, page, query, { key: 'crons', itemJson: cronJson });
  });

  const creates = { preValidation: boundScheduledSteps };
  app.post<{ Body: CreateCron }>('/cron', { schema: createSchema, ...creates }, async (request, reply) => {
    const spec = await cronSpec(request.body, request.rawBody, context);
    const id = await engine.crons.create(request.tenant, spec);
    reply.header('location', `/api/v1/cron/${id}`);
    return sendJson(reply, 201, `{"cron_id":"${id}"}`);
  });

  app.get<{ Querystring: QueryParameters }>('/cron/preview', { schema: previewSchema }, async (request, reply) => {
    const next = await engine.crons.preview(previewTimetable(request.query), PREVIEW_COUNT);
    return sendJson(reply, 200, JSON.stringify({ next }));
  });

  // The parameter is a name. It is called `id`, as in the other routes of this path, because the API description
  // identifies a path by its shape.
  app.put<ById & { Body: PutCron }>('/cron/:id', { schema: putSchema, ...creates }, async (request, reply) => {
    const spec = await putCronSpec(request.params.id, request.body, request.rawBody, context);
    const { id, created } = await engine.crons.put(request.tenant, spec);
    reply.header('location', `/api/v1/cron/${id}`);
    return sendJson(reply, created ? 201 : 200, `{"cron_id":"${id}"}`);
  });

  app.get<ById>('/cron/:id', { schema: getSchema }, async (request, reply) =>
    sendJson(reply, 200, cronJson(await engine.crons.get(request.tenant, request.params.id))),
  );

  app.delete<ById>('/cron/:id', vital(deleteSchema), async (request, reply) => {
    await engine.crons.remove(request.tenant, request.params.id);
    return sendNothing(reply);
  });

  app.post<ById>('/cron/:id/pause', vital(pauseSchema), async (request, reply) => {
    await engine.crons.pause(request.tenant, request.params.id);
    return sendNothing(reply);
  });

  app.post<ById>('/cron/:id/resume', { schema: resumeSchema }, async (request, reply) => {
    await engine.crons.resume(request.tenant, request.params.id);
    return sendNothing(reply);
  });

  app.post<ById>('/cron/:id/trigger', { schema: triggerSchema }, async (request, reply) => {
    const created = await engine.crons.trigger(request.tenant, request.params.id, idempotencyKey(request));
    return created.created === 'job'
      ? sendCreated(reply, created, 'job_id', 'jobs')
      : sendCreated(reply, created, 'workflow_id', 'workflows');
  });

  app.get<ByIdWithQuery>('/cron/:id/firings', { schema: firingsSchema }, async (request, reply) => {
    const query = listQuery(request.query);
    const page = await engine.crons.firings(request.tenant, request.params.id, query);
    return sendPage(request, reply, context, page, query, { key: 'firings', itemJson: JSON.stringify });
  });

  app.get<ByIdWithQuery>('/cron/:id/next', { schema: nextSchema }, async (request, reply) => {
    const runs = await engine.crons.nextRuns(request.tenant, request.params.id, nextRunsCount(request.query));
    return sendJson(reply, 200, JSON.stringify({ next_run_at: runs }));
  });
}

const SHARED = { tags: ['cron'], security: TENANT };
const LOCATION = { Location: { type: 'string', description: 'Path of the schedule.' } };

const listSchema = {
  ...SHARED,
  operationId: 'listCrons',
  summary: 'List schedules',
  description:
    'Ordered by created_at, then id, or by `order_by=next_run_at ASC`: what fires next first, then id, with ' +
    'paused and ended schedules last. `status` and `queue` do not apply.',
  docs: {
    querystring: CronListQuery,
    ...tagged(ref(CronPage), 'A page.'),
  },
};

const createSchema = {
  ...SHARED,
  operationId: 'createCron',
  summary: 'Create a schedule',
  description:
    'It fires first at the next occurrence after its creation. Each occurrence enqueues exactly one job, or starts ' +
    'exactly one workflow, whatever the number of servers. Occurrences missed while no server ran collapse into one ' +
    'catch-up.',
  body: ref(CreateCron),
  docs: {
    response: {
      201: described(ref(CronCreated), 'Created.', { headers: LOCATION }),
      ...bodyErrors(409),
    },
  },
};

const putSchema = {
  ...SHARED,
  operationId: 'putCron',
  summary: 'Create or replace the schedule of a name',
  description:
    'The path names the schedule, percent-encoded. Creates it, or replaces it as a whole; `enabled` stays as it is. ' +
    'With the same expression and time zone `next_run_at` stays too; otherwise it is the next occurrence of the new ' +
    'expression, and the old one no longer fires. The same request may be sent again at any time.',
  body: ref(PutCron),
  docs: {
    params: CronNameParams,
    response: {
      200: described(ref(CronCreated), 'Replaced.', { headers: LOCATION }),
      201: described(ref(CronCreated), 'Created.', { headers: LOCATION }),
      ...bodyErrors(),
    },
  },
};

const previewSchema = {
  ...SHARED,
  operationId: 'previewCron',
  summary: 'Preview an expression',
  description:
    'The next five instants at which a schedule with this expression and time zone would fire. Refuses anything that ' +
    'creating such a schedule would refuse. Nothing is stored.',
  docs: {
    querystring: CronPreviewQuery,
    response: { 200: described(ref(CronPreview), 'The instants.'), ...errors(400, 401, 503) },
  },
};

const getSchema = {
  ...SHARED,
  operationId: 'getCron',
  summary: 'Get a schedule',
  description: 'Its timetable, what it enqueues, and when it fires next.',
  docs: {
    params: IdParams,
    response: { 200: described(ref(Cron), 'The schedule.'), ...errors(400, 401, 403, 404, 503) },
  },
};

const deleteSchema = {
  ...SHARED,
  operationId: 'deleteCron',
  summary: 'Delete a schedule',
  description:
    'Jobs that it enqueued and workflows that it started stay as they are; the record of its firings goes with it.',
  docs: { params: IdParams, response: { 204: nothing('Deleted.'), ...bodyErrors(403, 404) } },
};

const pauseSchema = {
  ...SHARED,
  operationId: 'pauseCron',
  summary: 'Pause a schedule',
  description: 'No firing until it is resumed. Pausing again changes nothing.',
  docs: { params: IdParams, response: { 204: nothing('Paused.'), ...bodyErrors(403, 404) } },
};

const resumeSchema = {
  ...SHARED,
  operationId: 'resumeCron',
  summary: 'Resume a schedule',
  description:
    'It fires at its next future occurrence; occurrences missed while it was paused do not run. Resuming a schedule ' +
    'that is not paused, or whose last occurrence has passed, changes nothing.',
  docs: { params: IdParams, response: { 204: nothing('Resumed.'), ...bodyErrors(403, 404) } },
};

const triggerSchema = {
  ...SHARED,
  operationId: 'triggerCron',
  summary: 'Trigger a schedule',
  description:
    'Enqueues its job or starts its workflow now, in addition to the timetable: `next_run_at` stays, and the next ' +
    'occurrence gets its own. A paused or ended schedule can be triggered too. The firing is recorded with kind ' +
    '`triggered`. Each call does so, unless it repeats an `Idempotency-Key`.',
  docs: {
    params: IdParams,
    headers: IdempotentHeaders,
    response: {
      201: described(ref(CronTriggered), 'Enqueued.', { headers: { ...JOB_LOCATION, ...REPLAYED } }),
      ...bodyErrors(403, 404, 409),
    },
  },
};

const firingsSchema = {
  ...SHARED,
  operationId: 'listCronFirings',
  summary: 'List the firings of a schedule',
  description:
    'Newest first unless asked otherwise; the newest thousand are remembered. `created_after` and ' +
    '`created_before` apply to `fired_at`.',
  docs: {
    params: IdParams,
    querystring: ListQuery,
    ...tagged(ref(CronFiringPage), 'A page.', 403, 404),
  },
};

const nextSchema = {
  ...SHARED,
  operationId: 'listNextRuns',
  summary: 'The next occurrences of a schedule',
  description: 'Computed from its expression and time zone; for a paused schedule, those it would have if resumed now.',
  docs: {
    params: IdParams,
    querystring: NextRunsQuery,
    response: { 200: described(ref(NextRuns), 'The occurrences.'), ...errors(400, 401, 403, 404, 503) },
  },
};
