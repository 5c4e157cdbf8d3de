import { IdParams, JobLogs, JobLogsQuery, ref } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { HttpContext } from '../context.js';
import { sendJson } from '../answers/reply.js';
import { logsJson } from '../answers/serialize.js';
import { logsQuery, type QueryParameters } from '../requests/list-parameters.js';
import { described, errors, TENANT } from './route-docs.js';

interface ById {
  Params: { id: string };
  Querystring: QueryParameters;
}

export function logRoutes(app: FastifyInstance, { engine, openCalls }: HttpContext): void {
  app.get<ById>(
    '/jobs/:id/logs',
    { schema: logsSchema, config: { waits: ({ query }) => Number((query as QueryParameters).wait_secs) > 0 } },
    async (request, reply) => {
      const query = logsQuery(request.query);
      const logs = await engine.jobs.logs(request.tenant, request.params.id, query, openCalls.open(reply));
      return sendJson(reply, 200, logsJson(logs));
    },
  );
}

const logsSchema = {
  operationId: 'listLogs',
  summary: 'Read what handlers wrote',
  description:
    'The lines that handlers of the job wrote, attempt by attempt, up to 1000 of them; `next` leads to the following ' +
    'ones. Until the job has ended there is always a `next`, since more may come: follow it with `wait_secs`, or ' +
    'stop at a page without lines. Lines may come twice if a worker had to repeat a call.',
  tags: ['jobs'],
  security: TENANT,
  docs: {
    params: IdParams,
    querystring: JobLogsQuery,
    response: { 200: described(ref(JobLogs), 'The lines.'), ...errors(400, 401, 403, 404, 503) },
  },
};
