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
import { queueName } from '../requests/queue-name.js';
import { errorText, failureReport, progressText } from '../requests/report-input.js';
import { rawFields } from '../../domain/raw-json.js';
import { sendJson, sendNothing } from '../answers/reply.js';
import { bodyErrors, described, nothing, vital, WORKER } from './route-docs.js';
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

  app.post<ById<HeartbeatRequest>>('/jobs/:id/heartbeat', vital(heartbeatSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, extend_secs: extend, progress } = request.body;
    const [raw] = progress ? rawFields(request.rawBody, ['progress']) : [];
    const secs = clamp(extend, LEASE_LIMITS.extend_secs);
    const status = await worker.heartbeat(request.params.id, token, secs, progressText(progress, raw));
    return sendJson(reply, 200, `{"status":"${status}"}`);
  });

  app.post<ById<CompleteRequest>>('/jobs/:id/complete', vital(completeSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, result } = request.body;
    const [raw] = result ? rawFields(request.rawBody, ['result']) : [];
    await worker.complete(request.params.id, token, callerText(result, raw, '{}', 'result', context));
    return sendNothing(reply);
  });

  app.post<ById<FailRequest>>('/jobs/:id/fail', vital(failSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, error, retryable } = request.body;
    const more = failureReport(request.body);
    await worker.fail(request.params.id, token, errorText(error), retryable ?? true, more);
    return sendNothing(reply);
  });

  app.post<ById<ReleaseRequest>>('/jobs/:id/release', vital(releaseSchema), async (request, reply) => {
    await checkJob(request, worker);
    const { lease_token: token, delay_secs: delaySecs } = request.body;
    await worker.release(request.params.id, token, delaySecs ?? null);
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
    queue: queueName(queue),
    maxJobs: clamp(body.max_jobs, LEASE_LIMITS.max_jobs),
    leaseSecs: clamp(body.lease_secs, LEASE_LIMITS.lease_secs),
    waitSecs: clamp(body.wait_secs, LEASE_LIMITS.wait_secs),
    workerId: body.worker_id ?? null,
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
    'Back to its queue, due at once or after `delay_secs`: the delivery counts, the retry does not. On a job that is ' +
    'finished it answers 204 and changes nothing.',
  tags: ['worker'],
  security: WORKER,
  body: ref(ReleaseRequest),
  docs: { params: IdParams, response: { 204: nothing('Given back.'), ...bodyErrors(403, 404, 409) } },
};

const completeSchema = {
  operationId: 'completeJob',
  summary: 'Report success',
  description: 'Repeating it on a job that is finished answers 204 and changes nothing.',
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
    'Repeating it on a job that is finished answers 204 and changes nothing.',
  tags: ['worker'],
  security: WORKER,
  body: ref(FailRequest),
  docs: { params: IdParams, response: { 204: nothing('Recorded.'), ...bodyErrors(403, 404, 409) } },
};
