import {
  CompleteRequest,
  FailRequest,
  HeartbeatRequest,
  HeartbeatResponse,
  IdParams,
  LEASE_LIMITS,
  LeaseRequest,
  LeaseResponse,
  QueueParams,
  ReleaseRequest,
  ref,
} from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { LeasedJob } from '../../domain/records.js';
import type { LeaseRequest as EngineLeaseRequest } from '../../engine/api.js';
import { checkJob, checkQueue } from '../access/queue-scope.js';
import type { HttpContext } from '../context.js';
import { callerText } from '../requests/caller-text.js';
import { freeQueue } from '../../domain/reserved-queue.js';
import { queueName } from '../requests/queue-name.js';
import { newLogs, textOfLogs } from '../requests/log-input.js';
import { errorText, failureReport, progressText } from '../requests/report-input.js';
import { rawFields } from '../../domain/raw-json.js';
import { sendJson, sendNothing } from '../answers/reply.js';
import { bodyErrors, described, nothing, reporting, WORKER } from './route-docs.js';
import { leaseJson } from '../answers/serialize.js';

interface ById<Body> {
  Params: { id: string };
  Body: Body;
}

export function workerRoutes(app: FastifyInstance, context: HttpContext): void {
  const { worker } = context.engine;

  app.post<{ Params: { queue: string }; Body: LeaseRequest | undefined }>(
    '/queues/:queue/lease',
    {
      schema: leaseSchema,
      config: { load: 'waiting' },
      preValidation: (request, _reply, done) => ((request.body ??= {}), done()),
    },
    async (request, reply) => {
      const lease = leaseRequest(request.params.queue, request.body ?? {});
      checkQueue(request, lease.queue);
      const jobs = context.isShuttingDown() ? [] : await waitForJobs(context, lease, context.openCalls.open(reply));
      return sendJson(reply, 200, leaseJson(jobs));
    },
  );

  app.post<ById<HeartbeatRequest>>('/jobs/:id/heartbeat', reporting(heartbeatSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, extend_secs: extend, progress, logs } = request.body;
    const [raw, lines] = progress || logs ? rawFields(request.rawBody, ['progress', 'logs']) : [];
    const status = await worker.heartbeat({
      id: request.params.id,
      token,
      extendSecs: clamp(extend, LEASE_LIMITS.extend_secs),
      progress: progressText(progress, raw),
      logs: newLogs(logs, lines),
    });
    return sendJson(reply, 200, `{"status":"${status}"}`);
  });

  app.post<ById<CompleteRequest>>('/jobs/:id/complete', reporting(completeSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, result, logs } = request.body;
    const [raw, lines] = result || logs ? rawFields(request.rawBody, ['result', 'logs']) : [];
    const text = callerText(result, raw, '{}', 'result', context);
    await worker.complete(request.params.id, token, text, newLogs(logs, lines));
    return sendNothing(reply);
  });

  app.post<ById<FailRequest>>('/jobs/:id/fail', reporting(failSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, error, retryable, logs } = request.body;
    const more = { ...failureReport(request.body), logs: newLogs(logs, textOfLogs(request)) };
    await worker.fail(request.params.id, token, errorText(error), retryable ?? true, more);
    return sendNothing(reply);
  });

  app.post<ById<ReleaseRequest>>('/jobs/:id/release', reporting(releaseSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, delay_secs: delaySecs, logs } = request.body;
    await worker.release(request.params.id, token, delaySecs ?? null, newLogs(logs, textOfLogs(request)));
    return sendNothing(reply);
  });
}

/** A wait that is cut short, because the client left or the server is shutting down, has found nothing. */
async function waitForJobs(
  { engine }: HttpContext,
  lease: EngineLeaseRequest,
  signal: AbortSignal,
): Promise<readonly LeasedJob[]> {
  try {
    return await engine.worker.lease(lease, signal);
  } catch (error) {
    if (signal.aborted) return [];
    throw error;
  }
}

function leaseRequest(queue: string, body: LeaseRequest): EngineLeaseRequest {
  return {
    queue: freeQueue(queueName(queue), 'queue'),
    maxJobs: clamp(body.max_jobs, LEASE_LIMITS.max_jobs),
    leaseSecs: clamp(body.lease_secs, LEASE_LIMITS.lease_secs),
    waitSecs: clamp(body.wait_secs, LEASE_LIMITS.wait_secs),
    workerId: body.worker_id ?? null,
    slots: typeof body.slots === 'number' ? clamp(body.slots, LEASE_LIMITS.slots) : null,
    tasks: body.tasks ?? null,
  };
}

export function clamp(
  value: number | null | undefined,
  limit: { readonly minimum: number; readonly maximum: number; readonly default: number },
): number {
  return Math.min(Math.max(value ?? limit.default, limit.minimum), limit.maximum);
}

const leaseSchema = {
  operationId: 'leaseJobs',
  summary: 'Lease jobs from a queue',
  description:
    'Claims up to `max_jobs` jobs that are due, of every tenant, in order of priority (higher first), scheduled_at, ' +
    'created_at. When there are none, waits up to `wait_secs` for some. Each job comes with a lease token; heartbeat ' +
    'about every half of the lease, then complete or fail. A client that hangs up while it waits claims nothing. A ' +
    'worker token that is limited to other queues is refused with 403.',
  tags: ['worker'],
  security: WORKER,
  body: ref(LeaseRequest),
  docs: {
    params: QueueParams,
    response: { 200: described(ref(LeaseResponse), 'The claimed jobs, possibly none.'), ...bodyErrors(403) },
  },
};

const heartbeatSchema = {
  operationId: 'heartbeatJob',
  summary: 'Extend a lease',
  description:
    'Sets a new deadline, measured from now. A status other than `running` means that the lease was not extended: ' +
    'stop, and report nothing.',
  tags: ['worker'],
  security: WORKER,
  body: ref(HeartbeatRequest),
  docs: {
    params: IdParams,
    response: { 200: described(ref(HeartbeatResponse), 'The state of the job.'), ...bodyErrors(403, 404, 409) },
  },
};

const releaseSchema = {
  operationId: 'releaseJob',
  summary: 'Give a job back',
  description:
    'Puts the job back into its queue, due at once or after `delay_secs`: the delivery counts, the retry does not. ' +
    'On a finished job the call answers 204 and changes nothing.',
  tags: ['worker'],
  security: WORKER,
  body: ref(ReleaseRequest),
  docs: { params: IdParams, response: { 204: nothing('Given back.'), ...bodyErrors(403, 404, 409) } },
};

const completeSchema = {
  operationId: 'completeJob',
  summary: 'Report success',
  description: 'Repeating it on a finished job answers 204 and changes nothing.',
  tags: ['worker'],
  security: WORKER,
  body: ref(CompleteRequest),
  docs: { params: IdParams, response: { 204: nothing('Recorded.'), ...bodyErrors(403, 404, 409) } },
};

const failSchema = {
  operationId: 'failJob',
  summary: 'Report failure',
  description:
    'Schedules a retry if `retryable` and budget remain, otherwise fails the job for good and writes a dead letter. ' +
    'Repeating it on a finished job answers 204 and changes nothing.',
  tags: ['worker'],
  security: WORKER,
  body: ref(FailRequest),
  docs: { params: IdParams, response: { 204: nothing('Recorded.'), ...bodyErrors(403, 404, 409) } },
};
