import { AdminLimitPage, LIMIT_WAITING_COUNTED, LimitPage, LimitsQuery, ref } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { LimitPageRead, LimitsQuery as LimitsRead } from '../../engine/api.js';
import { sendTagged } from '../answers/etag.js';
import { warnOfMissedCells } from '../answers/cell-warnings.js';
import type { HttpContext } from '../context.js';
import { listQuery, type QueryParameters } from '../requests/list-parameters.js';
import { ADMIN, tagged, TENANT } from './route-docs.js';

/** The keys that jobs name as limits, and how much of them is used. */
export function limitRoutes(app: FastifyInstance, { engine: { insight } }: HttpContext): void {
  app.get<{ Querystring: QueryParameters }>('/limits', { schema: limitsSchema }, async (request, reply) => {
    const { limits, nextCursor } = await insight.limits(request.tenant, limitsRead(request.query));
    const shown = limits.map(({ tenant_id: _, ...use }) => use);
    return sendTagged(request, reply, pageText(shown, nextCursor));
  });
}

export function adminLimitRoutes(app: FastifyInstance, { engine: { admin } }: HttpContext): void {
  app.get<{ Querystring: QueryParameters }>('/admin/limits', { schema: adminLimitsSchema }, async (request, reply) => {
    const { limits, nextCursor } = await admin.limits(limitsRead(request.query), warnOfMissedCells(request));
    return sendTagged(request, reply, pageText(limits, nextCursor));
  });
}

function limitsRead(query: QueryParameters): LimitsRead {
  const { limit, cursor } = listQuery(query);
  return { limit, cursor, queue: typeof query.queue === 'string' ? query.queue : null };
}

const pageText = (limits: readonly object[], nextCursor: LimitPageRead['nextCursor']): string =>
  JSON.stringify({ limits, has_more: nextCursor !== null, ...(nextCursor !== null && { next_cursor: nextCursor }) });

const NOTE =
  `A key is listed while unfinished jobs name it, and for a few seconds after. Up to ${LIMIT_WAITING_COUNTED} waiting ` +
  'jobs of each are counted. A job with two limits waits in the line of one of them.';

const limitsSchema = {
  operationId: 'listLimits',
  summary: 'Keys that jobs name as limits',
  description: `How many jobs of each key run, how many may, and how many wait. ${NOTE}`,
  tags: ['system'],
  security: TENANT,
  docs: { querystring: LimitsQuery, ...tagged(ref(LimitPage), 'A page, by queue and key.') },
};

const adminLimitsSchema = {
  operationId: 'listAdminLimits',
  summary: 'Keys of all tenants',
  description: `The same for all tenants. ${NOTE}`,
  tags: ['admin'],
  security: ADMIN,
  docs: { querystring: LimitsQuery, ...tagged(ref(AdminLimitPage), 'A page, by tenant, queue and key.', 403) },
};
