import {
  AdminOverview,
  AdminQueues,
  AdminSeries,
  AdminSeriesQuery,
  AdminTenants,
  AdminTenantsQuery,
  AdminWorkers,
  AUDIT_KEPT,
  AuditPage,
  AuditQuery,
  PauseQueue,
  QUEUE_TENANTS_SHOWN,
  QueueParams,
  QueueSettings,
  QueueSettingsInput,
  ref,
  SERIES_TENANTS_SHOWN,
} from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import { checkRate } from '../../domain/job-config.js';
import { auditStampOf } from '../access/operators.js';
import type { HttpContext } from '../context.js';
import { listQuery, seriesQuery, type QueryParameters } from '../requests/list-parameters.js';
import { freeQueue } from '../../domain/reserved-queue.js';
import { queueName } from '../requests/queue-name.js';
import { warnOfSeparateLimits, warnOfMissedCells } from '../answers/cell-warnings.js';
import { bodyOrNone } from '../requests/replay-input.js';
import { sendTagged } from '../answers/etag.js';
import { sendJson, sendNothing, withWarnings } from '../answers/reply.js';
import { ADMIN, bodyErrors, described, nothing, tagged, vital } from './route-docs.js';

interface OfQueue {
  Params: { queue: string };
}

/** What operators see and do: all tenants together. */
export function adminRoutes(app: FastifyInstance, { engine: { admin }, version }: HttpContext): void {
  app.get('/admin/overview', { schema: overviewSchema }, async (request, reply) => {
    const { now, ...rest } = await admin.overview(warnOfMissedCells(request));
    return sendTagged(request, reply, JSON.stringify({ version, now, ...rest }), JSON.stringify(rest));
  });

  app.get('/admin/queues', { schema: queuesSchema }, async (request, reply) =>
    sendTagged(request, reply, JSON.stringify({ queues: await admin.queues(warnOfMissedCells(request)) })),
  );

  app.get<{ Querystring: QueryParameters }>('/admin/tenants', { schema: tenantsSchema }, async (request, reply) => {
    const { tenants, nextCursor } = await admin.tenants(listQuery(request.query), warnOfMissedCells(request));
    const more = nextCursor === null ? { has_more: false } : { has_more: true, next_cursor: nextCursor };
    return sendTagged(request, reply, JSON.stringify({ tenants, ...more }));
  });

  app.get('/admin/workers', { schema: workersSchema }, async (request, reply) =>
    sendTagged(request, reply, JSON.stringify({ workers: await admin.workers(warnOfMissedCells(request)) })),
  );

  app.get<{ Querystring: QueryParameters }>('/admin/series', { schema: seriesSchema }, async (request, reply) =>
    sendTagged(
      request,
      reply,
      JSON.stringify(await admin.series(seriesQuery(request.query), warnOfMissedCells(request))),
    ),
  );

  app.get<OfQueue>('/admin/queues/:queue', { schema: settingsSchema }, async (request, reply) => {
    const settings = await admin.settings(queueName(request.params.queue), warnOfSeparateLimits(request));
    return sendTagged(request, reply, JSON.stringify(settings));
  });

  app.put<OfQueue & { Body: QueueSettingsInput }>(
    '/admin/queues/:queue',
    { schema: putSettingsSchema },
    async (request, reply) => {
      checkRate(request.body.rate, 'rate');
      const settings = await admin.set(
        queueName(request.params.queue),
        request.body,
        auditStampOf(request),
        warnOfSeparateLimits(request),
      );
      return sendJson(reply, 200, withWarnings(JSON.stringify(settings), request));
    },
  );

  app.post<OfQueue & { Body: PauseQueue }>(
    '/admin/queues/:queue/pause',
    { ...vital(pauseSchema), preValidation: bodyOrNone },
    async (request, reply) => {
      const queue = freeQueue(queueName(request.params.queue), 'queue');
      await admin.pause(queue, request.body.reason ?? null, auditStampOf(request));
      return sendNothing(reply);
    },
  );

  app.post<OfQueue>('/admin/queues/:queue/resume', vital(resumeSchema), async (request, reply) => {
    await admin.resume(queueName(request.params.queue), auditStampOf(request));
    return sendNothing(reply);
  });

  app.get<{ Querystring: QueryParameters }>('/admin/audit', { schema: auditSchema }, async (request, reply) => {
    const { entries, nextCursor } = await admin.audit(listQuery(request.query), warnOfMissedCells(request));
    const shown = entries.map(({ id: _, ...entry }) => entry);
    const more = nextCursor === null ? { has_more: false } : { has_more: true, next_cursor: nextCursor };
    return sendTagged(request, reply, JSON.stringify({ entries: shown, ...more }));
  });
}

const overviewSchema = {
  operationId: 'getAdminOverview',
  summary: 'Everything at a glance',
  description:
    'Counts over all tenants, exact where `exact` says so. Waiting and running jobs are counted up to a million of ' +
    'each, the rest up to 10,000. From 100,000 waiting jobs on, counts may be up to 30 seconds old; `now` says when ' +
    'they were made.',
  tags: ['admin'],
  security: ADMIN,
  docs: tagged(ref(AdminOverview), 'The overview.', 403),
};

const queuesSchema = {
  operationId: 'listAdminQueues',
  summary: 'Queues of all tenants',
  description:
    `Queues that hold unfinished jobs or are paused, each with the ${QUEUE_TENANTS_SHOWN} tenants that hold most of ` +
    'it. At most 1,000: those that are paused, and those that hold most. Counted over a million waiting jobs; from ' +
    '100,000 on, counts may be some seconds old, at most 30.',
  tags: ['admin'],
  security: ADMIN,
  docs: tagged(ref(AdminQueues), 'The queues, by name.', 403),
};

const tenantsSchema = {
  operationId: 'listAdminTenants',
  summary: 'Tenants and what they hold',
  description: 'In the order of their names. Up to 10,000 waiting jobs are counted for each.',
  tags: ['admin'],
  security: ADMIN,
  docs: { querystring: AdminTenantsQuery, ...tagged(ref(AdminTenants), 'A page.', 403) },
};

const workersSchema = {
  operationId: 'listAdminWorkers',
  summary: 'Workers of all tenants',
  description: 'Those that held jobs of any tenant in the last hour, the last seen first; at most 1,000.',
  tags: ['admin'],
  security: ADMIN,
  docs: tagged(ref(AdminWorkers), 'The workers.', 403),
};

const seriesSchema = {
  operationId: 'getAdminSeries',
  summary: 'Plot whose jobs ended',
  description:
    `Jobs that completed or failed for good, over time: those of the ${SERIES_TENANTS_SHOWN} tenants with the most of ` +
    'them, and of all others together. Steps of 5 minutes for the last two days, of an hour for 60 days. The last ' +
    'step is up to 15 seconds behind.',
  tags: ['admin'],
  security: ADMIN,
  docs: { querystring: AdminSeriesQuery, ...tagged(ref(AdminSeries), 'The columns of the plot.', 403) },
};

const SETTINGS_NOTE =
  'They hold for all tenants and workers together, from the commit on, for what waits too; what runs goes on. Each ' +
  'database holds them for itself: where tenants are spread over several, each of those counts alone, and `warnings` ' +
  'say so.';

const settingsSchema = {
  operationId: 'getQueueSettings',
  summary: 'Limits of a queue',
  description: `What is set for the queue; all null if nothing is. ${SETTINGS_NOTE}`,
  tags: ['admin'],
  security: ADMIN,
  docs: { params: QueueParams, ...tagged(ref(QueueSettings), 'The settings.', 403) },
};

const putSettingsSchema = {
  operationId: 'putQueueSettings',
  summary: 'Limit a queue',
  description:
    'How many of its jobs may run at a time, at which rate they start, and whether tenants take turns. ' +
    `${SETTINGS_NOTE} Any name will do, whether the queue holds jobs or not.`,
  body: QueueSettingsInput,
  tags: ['admin'],
  security: ADMIN,
  docs: {
    params: QueueParams,
    response: { 200: described(ref(QueueSettings), 'As it is set now.'), ...bodyErrors(403) },
  },
};

const pauseSchema = {
  operationId: 'pauseQueue',
  summary: 'Pause a queue',
  description:
    'Affects all tenants. From now on no process of the service leases its jobs; running jobs continue, and jobs can ' +
    'still be created. A paused queue stays paused since when it was, and a new reason replaces the old one. Any name ' +
    'is accepted, whether or not the queue holds jobs.',
  body: ref(PauseQueue),
  tags: ['admin'],
  security: ADMIN,
  docs: { params: QueueParams, response: { 204: nothing('Paused.'), ...bodyErrors() } },
};

const resumeSchema = {
  operationId: 'resumeQueue',
  summary: 'Resume a queue',
  description: 'Workers that wait for its jobs get them at once. A queue that is not paused stays as it is.',
  tags: ['admin'],
  security: ADMIN,
  docs: { params: QueueParams, response: { 204: nothing('Resumed.'), ...bodyErrors() } },
};

const auditSchema = {
  operationId: 'listAudit',
  summary: 'What operators did',
  description:
    'Pauses, resumes and settings of queues, each with how it was before and after; and who read as which tenant, ' +
    `once an hour. The last ${AUDIT_KEPT} entries are kept.`,
  tags: ['admin'],
  security: ADMIN,
  docs: { querystring: AuditQuery, ...tagged(ref(AuditPage), 'A page, the newest first.', 403) },
};
