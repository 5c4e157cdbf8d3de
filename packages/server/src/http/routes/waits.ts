import { IdParams, ref, WAIT_JOBS_LIMITS, WAIT_LIMITS, WaitRequest, WaitResponse, Why } from '@millrace/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { invalidField } from '../../domain/errors.js';
import type { HttpContext } from '../context.js';
import { sendJson } from '../answers/reply.js';
import { bodyErrors, described, errors, TENANT } from './route-docs.js';

/** What jobs are waited for, and what a job waits for. */
export function waitRoutes(app: FastifyInstance, { engine, openCalls }: HttpContext): void {
  app.post<{ Body: WaitRequest }>(
    '/jobs/wait',
    { schema: waitSchema, config: { load: 'waiting', reads: true }, preValidation: boundIds },
    async (request, reply) => {
      const { job_ids: ids, until, wait_secs: waitSecs } = request.body;
      const query = { ids, until: until ?? 'all', waitSecs: clampedWait(waitSecs ?? WAIT_LIMITS.default) };
      const result = await engine.jobs.waitForMany(request.tenant, query, openCalls.open(reply));
      return sendJson(reply, 200, JSON.stringify(result));
    },
  );

  app.get<{ Params: { id: string } }>('/jobs/:id/why', { schema: whySchema }, async (request, reply) =>
    sendJson(reply, 200, JSON.stringify(await engine.jobs.why(request.tenant, request.params.id))),
  );
}

const clampedWait = (secs: number): number => Math.min(Math.max(secs, WAIT_LIMITS.minimum), WAIT_LIMITS.maximum);

/** Before the validator checks each item, because it reports every problem: this limits how many there can be. */
function boundIds(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  const { job_ids: ids } = (request.body ?? {}) as { job_ids?: unknown };
  if (!Array.isArray(ids) || ids.length <= WAIT_JOBS_LIMITS.maximum) return done();
  done(invalidField('job_ids', `must have at most ${WAIT_JOBS_LIMITS.maximum} items`));
}

const waitSchema = {
  operationId: 'waitForJobs',
  summary: 'Wait for jobs to end',
  description:
    'Answers when all of the jobs, or any of them, have ended, or when the time is up. Ends are noticed at once in ' +
    'the process that stores them, and within about a second elsewhere. Nothing is written. Unknown and malformed ' +
    "ids are `missing`; another tenant's id is a 403. A limited number of jobs may be waited for at a time: beyond " +
    'that, the call is a 503.',
  tags: ['jobs'],
  security: TENANT,
  body: ref(WaitRequest),
  docs: {
    response: { 200: described(ref(WaitResponse), 'How the jobs stand.'), ...bodyErrors(403) },
  },
};

const whySchema = {
  operationId: 'whyJob',
  summary: 'Why a job does not run',
  description:
    'What the job waits for, in one sentence: its time, its retry, a worker, or the jobs ahead of it (of all ' +
    'tenants, but only their number is shown). Or that it runs, or has ended.',
  tags: ['jobs'],
  security: TENANT,
  docs: { params: IdParams, response: { 200: described(ref(Why), 'The reason.'), ...errors(400, 401, 403, 404, 503) } },
};
