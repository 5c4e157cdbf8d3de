import {
  CreateOperation,
  DRY_RUN_SAMPLE,
  DryRun,
  IdempotentHeaders,
  IdParams,
  Operation,
  OperationCreated,
  OperationListQuery,
  Operations,
  OPERATIONS_ACTIVE,
  ref,
} from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { HttpContext } from '../context.js';
import { idempotencyKey } from '../requests/idempotency-key.js';
import { listQuery, type QueryParameters } from '../requests/list-parameters.js';
import { boundIds, operationSpec } from '../requests/operation-input.js';
import { sendTagged } from '../answers/etag.js';
import { sendCreated, sendJson, sendNothing } from '../answers/reply.js';
import { dryRunJson, operationJson, operationsJson } from '../answers/serialize.js';
import { bodyErrors, described, nothing, REPLAYED, tagged, TENANT, vital } from './route-docs.js';

interface ById {
  Params: { id: string };
}

/** Changes to everything that matches a filter. */
export function operationRoutes(app: FastifyInstance, { engine: { operations } }: HttpContext): void {
  app.post<{ Body: CreateOperation }>(
    '/operations',
    { schema: createSchema, preValidation: boundIds },
    async (request, reply) => {
      const spec = operationSpec(request.body);
      if (request.body.dry_run === true)
        return sendJson(reply, 200, dryRunJson(await operations.dryRun(request.tenant, spec)));
      const created = await operations.create(request.tenant, spec, idempotencyKey(request));
      return sendCreated(reply, created, 'operation_id', 'operations', 202);
    },
  );

  app.get<{ Querystring: QueryParameters }>('/operations', { schema: listSchema }, async (request, reply) =>
    sendTagged(request, reply, operationsJson(await operations.list(request.tenant, listQuery(request.query)))),
  );

  app.get<ById>('/operations/:id', { schema: getSchema }, async (request, reply) =>
    sendTagged(request, reply, operationJson(await operations.get(request.tenant, request.params.id))),
  );

  app.post<ById>('/operations/:id/stop', vital(stopSchema), async (request, reply) => {
    await operations.stop(request.tenant, request.params.id);
    return sendNothing(reply);
  });
}

const createSchema = {
  operationId: 'createOperation',
  summary: 'Change everything that matches',
  description:
    'Cancels jobs, replays dead letters or resumes workflows in the background: those that a filter selects, or ' +
    'those with the given ids. Items created after the operation are not affected. Ids of other tenants are ignored. ' +
    `With \`dry_run\`, the answer says how many match and shows the first ${DRY_RUN_SAMPLE}, and nothing changes. At ` +
    `most ${OPERATIONS_ACTIVE} operations of a tenant run at once.`,
  tags: ['operations'],
  security: TENANT,
  body: ref(CreateOperation),
  docs: {
    headers: IdempotentHeaders,
    response: {
      200: described(ref(DryRun), 'What would match: with `dry_run`.'),
      202: described(ref(OperationCreated), 'Stored, and begun.', {
        headers: { Location: { type: 'string', description: 'Path of the operation.' }, ...REPLAYED },
      }),
      ...bodyErrors(409),
    },
  },
};

const listSchema = {
  operationId: 'listOperations',
  summary: 'List operations',
  description: 'The newest first. Ended ones are removed after the retention window, or after 30 days without one.',
  tags: ['operations'],
  security: TENANT,
  docs: {
    querystring: OperationListQuery,
    ...tagged(ref(Operations), 'A page.'),
  },
};

const getSchema = {
  operationId: 'getOperation',
  summary: 'Get an operation',
  description: 'How far it has got. The outcome of replayed jobs is counted at most every five seconds.',
  tags: ['operations'],
  security: TENANT,
  docs: {
    params: IdParams,
    ...tagged(ref(Operation), 'The operation.', 403, 404),
  },
};

const stopSchema = {
  operationId: 'stopOperation',
  summary: 'Stop an operation',
  description: 'Takes effect after the current batch. Changes that it has made stay.',
  tags: ['operations'],
  security: TENANT,
  docs: { params: IdParams, response: { 204: nothing('Stopped.'), ...bodyErrors(403, 404, 409) } },
};
