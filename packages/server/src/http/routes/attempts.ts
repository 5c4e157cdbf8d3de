import { Attempts, IdParams, ref } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { HttpContext } from '../context.js';
import { sendJson, sendNothing } from '../answers/reply.js';
import { attemptsJson } from '../answers/serialize.js';
import { bodyErrors, described, errors, nothing, TENANT } from './route-docs.js';

interface ById {
  Params: { id: string };
}

export function attemptRoutes(app: FastifyInstance, { engine }: HttpContext): void {
  app.get<ById>('/jobs/:id/attempts', { schema: attemptsSchema }, async (request, reply) =>
    sendJson(reply, 200, attemptsJson(await engine.jobs.attempts(request.tenant, request.params.id))),
  );

  app.post<ById>('/jobs/:id/run-now', { schema: runNowSchema }, async (request, reply) => {
    await engine.jobs.runNow(request.tenant, request.params.id);
    return sendNothing(reply);
  });
}

const attemptsSchema = {
  operationId: 'listAttempts',
  summary: 'List the attempts of a job',
  description:
    'How each delivery ended, in order: the first 20 and the last 20 that did not complete, the one that completed, ' +
    'and the one that runs. Error messages are cut at 8192 characters here. Attempts made before the service kept ' +
    'them count as omitted.',
  tags: ['jobs'],
  security: TENANT,
  docs: {
    params: IdParams,
    response: { 200: described(ref(Attempts), 'The attempts.'), ...errors(400, 401, 403, 404, 503) },
  },
};

const runNowSchema = {
  operationId: 'runJobNow',
  summary: 'Make a waiting job due',
  description:
    'A job that is scheduled for later, or waits for its retry, becomes due now. Nothing changes for a job that is ' +
    'already due. A running job is a `conflict`, an ended one `already_finished`.',
  tags: ['jobs'],
  security: TENANT,
  docs: { params: IdParams, response: { 204: nothing('It is due.'), ...bodyErrors(403, 404, 409) } },
};
