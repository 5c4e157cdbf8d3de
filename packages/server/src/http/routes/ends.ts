import { EndedJobs, EndedJobsQuery, ref } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { HttpContext } from '../context.js';
import { sendJson } from '../answers/reply.js';
import { endedJobsJson } from '../answers/serialize.js';
import { endedJobsQuery, type QueryParameters } from '../requests/list-parameters.js';
import { described, errors, TENANT } from './route-docs.js';

export function endRoutes(app: FastifyInstance, { engine }: HttpContext): void {
  app.get<{ Querystring: QueryParameters }>('/jobs/ended', { schema: endedSchema }, async (request, reply) =>
    sendJson(reply, 200, endedJobsJson(await engine.jobs.ended(request.tenant, endedJobsQuery(request.query)))),
  );
}

const endedSchema = {
  operationId: 'listEndedJobs',
  summary: 'Follow jobs as they end',
  description:
    'Jobs in the order in which they ended. The first answer, to a call without `after`, has no jobs: it says where ' +
    'to begin. From then on every job that ends is listed once, however many end at a time, as long as you call ' +
    'again within two minutes; `missed` says that you did not. A page may be short, or empty, even if there are ' +
    '`more`. Repeating a call repeats its answer.',
  tags: ['jobs'],
  security: TENANT,
  docs: {
    querystring: EndedJobsQuery,
    response: { 200: described(ref(EndedJobs), 'What has ended since.'), ...errors(400, 401, 503) },
  },
};
