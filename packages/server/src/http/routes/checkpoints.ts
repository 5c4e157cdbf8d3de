import {
  CheckpointRequest,
  Checkpoints,
  IdParams,
  LeaseTokenHeader,
  ref,
  StoredCheckpoint,
  SuspendRequest,
} from '@millrace/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidField } from '../../domain/errors.js';
import { rawFields } from '../../domain/raw-json.js';
import type { JobCheckpoints } from '../../domain/records.js';
import { adminElsewhere } from '../access/auth.js';
import { checkJob } from '../access/queue-scope.js';
import { sendJson, sendNothing } from '../answers/reply.js';
import { checkpointJson, checkpointsJson } from '../answers/serialize.js';
import type { HttpContext } from '../context.js';
import { suspensionOf, valueText } from '../requests/durable-input.js';
import { newLogs } from '../requests/log-input.js';
import { bodyErrors, described, errors, nothing, reporting, TENANT, vital, WORKER } from './route-docs.js';

interface ById<Body = unknown> {
  Params: { id: string };
  Body: Body;
}

/** What the worker of a durable job calls: it stores what is done, and lets go of the job while that waits. */
export function checkpointRoutes(app: FastifyInstance, context: HttpContext): void {
  const { worker } = context.engine;

  app.post<ById<CheckpointRequest>>('/jobs/:id/checkpoints', vital(checkpointSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, name } = request.body;
    const [raw] = rawFields(request.rawBody, ['value']);
    const value = valueText(raw, context.maxPayloadBytes);
    const standing = await worker.checkpoint(request.params.id, token, name, value);
    return sendJson(reply, standing.isNew ? 201 : 200, checkpointJson(name, standing.value));
  });

  app.post<ById<SuspendRequest>>('/jobs/:id/suspend', reporting(suspendSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, logs } = request.body;
    const [wait, lines] = rawFields(request.rawBody, ['wait', 'logs']);
    await worker.suspend(request.params.id, token, suspensionOf(request.body, wait), newLogs(logs, lines));
    return sendNothing(reply);
  });
}

/** Read by tenants, and by the worker that holds the job. */
export function checkpointReads(app: FastifyInstance, context: HttpContext): void {
  app.get<ById>('/jobs/:id/checkpoints', { schema: checkpointsSchema }, async (request, reply) =>
    sendJson(reply, 200, checkpointsJson(await readCheckpoints(request, context))),
  );
}

async function readCheckpoints(
  request: FastifyRequest<{ Params: { id: string } }>,
  { engine }: HttpContext,
): Promise<JobCheckpoints> {
  const principal = request.principal!;
  const token = request.headers['lease-token'];
  if (typeof token === 'string' && principal.kind !== 'tenant' && principal.kind !== 'admin') {
    await checkJob(request, engine.worker);
    return engine.durable.checkpointsOfLease(request.params.id, token);
  }
  if ('tenant' in principal) return engine.durable.checkpoints(principal.tenant, request.params.id);
  if (principal.kind === 'worker') throw invalidField('Lease-Token', 'is required of a worker');
  throw adminElsewhere();
}

const checkpointSchema = {
  operationId: 'storeCheckpoint',
  summary: 'Keep a value under a name',
  description:
    'The first value stored under a name is never replaced: the answer is 201 if this call stored it, and 200 with ' +
    'the stored value if there was one. So the call may be repeated. A checkpoint belongs to the job, not to the ' +
    'attempt, and is removed with the job. It ends the wait of that name, if there is one. A job has at most 1,000, ' +
    'and all of them together are bounded like a payload (413).',
  tags: ['worker'],
  security: WORKER,
  body: ref(CheckpointRequest),
  docs: {
    params: IdParams,
    response: {
      200: described(ref(StoredCheckpoint), 'There was one; this is it.'),
      201: described(ref(StoredCheckpoint), 'Stored.'),
      ...bodyErrors(403, 404, 409),
    },
  },
};

const suspendSchema = {
  operationId: 'suspendJob',
  summary: 'Wait without a worker',
  description:
    'Puts the job back into its queue, due at `until` or after `delay_secs`. It is due sooner if it waits for a ' +
    'signal and one comes, or for children and all of them have ended. The delivery counts, the retry does not. A ' +
    'wait keeps the first deadline given under the name of its checkpoint. What ends the wait becomes the ' +
    'checkpoint: `{value}` of a signal, or `{children: [{name, job_id, status, result | error}]}`, in the order in ' +
    'which they were named; a result that does not fit is left out, with `omitted: true`. If the signal is already ' +
    'stored, or all children have ended, the job is due at once. On a finished job the call answers 204 and changes ' +
    'nothing.',
  tags: ['worker'],
  security: WORKER,
  body: ref(SuspendRequest),
  docs: { params: IdParams, response: { 204: nothing('It waits.'), ...bodyErrors(403, 404, 409) } },
};

const checkpointsSchema = {
  operationId: 'listCheckpoints',
  summary: 'What a job has stored',
  description:
    'Its checkpoints in the order in which they were stored, and the deadlines of open waits. A worker passes the ' +
    'token of its lease in the header `Lease-Token`, and is refused (409) if it no longer holds the job.',
  tags: ['jobs'],
  security: [...TENANT, ...WORKER],
  docs: {
    params: IdParams,
    headers: LeaseTokenHeader,
    response: { 200: described(ref(Checkpoints), 'The checkpoints.'), ...errors(400, 401, 403, 404, 409, 503) },
  },
};
