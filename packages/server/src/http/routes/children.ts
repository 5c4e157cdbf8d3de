import { CHILDREN_LIMITS, ChildrenCreated, ChildrenRequest, IdParams, ref } from '@millrace/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { invalidField } from '../../domain/errors.js';
import { checkJob, checkQueue } from '../access/queue-scope.js';
import { sendJson } from '../answers/reply.js';
import type { HttpContext } from '../context.js';
import { fieldsOfItems } from '../../domain/raw-json.js';
import { childSpecs } from '../requests/children-input.js';
import { CALLER_FIELDS } from '../requests/job-input.js';
import { tracedSettings } from '../requests/trace.js';
import { bodyErrors, described, WORKER } from './route-docs.js';

interface ById {
  Params: { id: string };
  Body: ChildrenRequest;
}

/** Jobs that the worker of a running job creates in its name. */
export function childrenRoutes(app: FastifyInstance, context: HttpContext): void {
  const { worker } = context.engine;

  app.post<ById>(
    '/jobs/:id/children',
    { schema: childrenSchema, preValidation: boundChildren },
    async (request, reply) => {
      await checkJob(request, worker);
      const { lease_token: token, jobs } = request.body;
      const { rawBody } = request;
      const texts = await context.turns.over(rawBody, fieldsOfItems(rawBody, 'jobs', CALLER_FIELDS));
      const children = childSpecs(jobs, texts, tracedSettings(request, context));
      for (const { spec } of children) checkQueue(request, spec.queue);
      const ids = await worker.children(request.params.id, token, children);
      return sendJson(reply, 201, JSON.stringify({ job_ids: ids }));
    },
  );
}

/** Runs before the validator checks each item: the validator reports every problem, and this bounds their number. */
function boundChildren(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  const { jobs } = (request.body ?? {}) as { jobs?: unknown };
  if (!Array.isArray(jobs) || jobs.length <= CHILDREN_LIMITS.maximum) return done();
  done(invalidField('jobs', `must have at most ${CHILDREN_LIMITS.maximum} items`));
}

const childrenSchema = {
  operationId: 'createChildren',
  summary: 'Create jobs while one runs',
  description:
    'Up to 1000 jobs of the same tenant, created once per parent and name: a repeat returns the ids of the first ' +
    'time, and new names are created, all of them or none. `POST /jobs/{id}/suspend` waits for them. A token that is ' +
    'limited to queues creates jobs on those only (403). If the parent is cancelled, its unfinished children are ' +
    'cancelled too, and theirs, within 15 seconds, unless they are `detached`. `config.unique` and `idempotency_key` ' +
    'are refused: the name takes their place.',
  tags: ['worker'],
  security: WORKER,
  body: ref(ChildrenRequest),
  docs: {
    params: IdParams,
    response: {
      201: described(ref(ChildrenCreated), 'Created, or found by their names.'),
      ...bodyErrors(403, 404, 409),
    },
  },
};
