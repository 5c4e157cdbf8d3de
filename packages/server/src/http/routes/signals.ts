import {
  JobSignalParams,
  JobSignalRequest,
  ref,
  SIGNAL_TTL_LIMITS,
  SignalAccepted,
  SignalRequest,
  Waits,
  WaitsQuery,
  WorkflowSignalParams,
} from '@millrace/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { rawFields } from '../../domain/raw-json.js';
import type { DurableApi } from '../../engine/api.js';
import { sendJson } from '../answers/reply.js';
import { waitsJson } from '../answers/serialize.js';
import type { HttpContext } from '../context.js';
import { signalName, signalValue } from '../requests/durable-input.js';
import { idempotencyKey } from '../requests/idempotency-key.js';
import { waitsQuery, type QueryParameters } from '../requests/list-parameters.js';
import { bodyErrors, described, errors, REPLAYED, TENANT } from './route-docs.js';

interface ToOne {
  Params: { id: string; name: string };
  Body: JobSignalRequest | undefined;
}

/** The body may be empty. */
const toOne = <Schema extends object>(schema: Schema) => ({
  schema,
  preValidation: (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction) => (
    (request.body ??= {}),
    done()
  ),
});

/** To one job or one workflow. */
async function sendToOne(
  request: FastifyRequest<ToOne>,
  reply: FastifyReply,
  signal: DurableApi['signalJob'],
): Promise<FastifyReply> {
  const { id, name } = request.params;
  const [raw] = request.rawBody === '' ? [] : rawFields(request.rawBody, ['value']);
  const sent = await signal(request.tenant, id, signalName(name), signalValue(raw), idempotencyKey(request));
  if (sent.replayed) reply.header('Idempotency-Replayed', 'true');
  return sendJson(reply, 202, `{"delivered":${sent.delivered}}`);
}

/** What tenants tell jobs that wait, and which those are. */
export function signalRoutes(app: FastifyInstance, { engine }: HttpContext): void {
  app.post<{ Body: SignalRequest }>('/signals', { schema: signalSchema }, async (request, reply) => {
    const { name, key, ttl_secs: ttlSecs } = request.body;
    const [raw] = rawFields(request.rawBody, ['value']);
    const signal = { name, key, value: signalValue(raw), ttlSecs: ttlSecs ?? SIGNAL_TTL_LIMITS.default, jobId: null };
    const sent = await engine.durable.signal(request.tenant, signal, idempotencyKey(request));
    if (sent.replayed) reply.header('Idempotency-Replayed', 'true');
    return sendJson(reply, 202, `{"delivered":${sent.delivered}}`);
  });

  app.post<ToOne>('/jobs/:id/signals/:name', toOne(jobSignalSchema), (request, reply) =>
    sendToOne(request, reply, (...args) => engine.durable.signalJob(...args)),
  );

  app.post<ToOne>('/workflows/:id/signals/:name', toOne(workflowSignalSchema), (request, reply) =>
    sendToOne(request, reply, (...args) => engine.durable.signalWorkflow(...args)),
  );

  app.get<{ Querystring: QueryParameters }>('/waits', { schema: waitsSchema }, async (request, reply) =>
    sendJson(reply, 200, waitsJson(await engine.durable.waits(request.tenant, waitsQuery(request.query)))),
  );
}

const signalSchema = {
  operationId: 'sendSignal',
  summary: 'Send a signal',
  description:
    'Goes to the oldest job of the tenant that waits for this name and key: the job gets the value and is due. If ' +
    'none waits, the signal is stored, and the next wait takes the oldest one: it makes no difference whether the ' +
    'signal or the wait comes first. Each signal ends one wait. At most 100 are stored per name and key, and 100,000 ' +
    'per tenant: beyond that, the call is a 409, since nobody takes them.',
  tags: ['jobs'],
  security: TENANT,
  body: ref(SignalRequest),
  docs: {
    response: {
      202: described(ref(SignalAccepted), 'Delivered, or stored.', { headers: REPLAYED }),
      ...bodyErrors(403, 409),
    },
  },
};

const jobSignalSchema = {
  operationId: 'signalJob',
  summary: 'Send a signal to a job',
  description:
    'The same with the id of the job as the key, which a job waits for if it names no key. It is kept until the job ' +
    'ends; afterwards the answer is 409 `already_finished`.',
  tags: ['jobs'],
  security: TENANT,
  body: ref(JobSignalRequest),
  docs: {
    params: JobSignalParams,
    response: {
      202: described(ref(SignalAccepted), 'Delivered, or stored.', { headers: REPLAYED }),
      ...bodyErrors(403, 404, 409),
    },
  },
};

const workflowSignalSchema = {
  operationId: 'signalWorkflow',
  summary: 'Send a signal to a workflow',
  description:
    'The same with the id of the workflow as the key, which a step waits for if its `wait` names no key. It is kept ' +
    'until the workflow ends; afterwards the answer is 409 `already_finished`.',
  tags: ['workflows'],
  security: TENANT,
  body: ref(JobSignalRequest),
  docs: {
    params: WorkflowSignalParams,
    response: {
      202: described(ref(SignalAccepted), 'Delivered, or stored.', { headers: REPLAYED }),
      ...bodyErrors(403, 404, 409),
    },
  },
};

const waitsSchema = {
  operationId: 'listWaits',
  summary: 'Jobs that wait for signals',
  description: 'The newest first. A wait of a job that has ended may be listed for a few minutes.',
  tags: ['jobs'],
  security: TENANT,
  docs: {
    querystring: WaitsQuery,
    response: { 200: described(ref(Waits), 'The waits.'), ...errors(400, 401, 403, 503) },
  },
};
