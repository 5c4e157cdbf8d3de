import {
  BATCH_LIMITS,
  CreateJob,
  CreateJobBatch,
  CreateJobHeaders,
  GetJobQuery,
  IdempotentHeaders,
  IdParams,
  Job,
  JobBatchCreated,
  JobCreated,
  JobListQuery,
  JobPage,
  JobSummaryPage,
  ref,
  ReplayRequest,
} from '@millrace/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { invalidField } from '../../domain/errors.js';
import { keptCheckpoints } from '../../domain/kept-checkpoints.js';
import type { JobSpec } from '../../domain/records.js';
import type { HttpContext } from '../context.js';
import { idempotencyKey, itemKeys } from '../requests/idempotency-key.js';
import { digestOf, jobDigests } from '../requests/digest.js';
import { CALLER_FIELDS, jobSpec } from '../requests/job-input.js';
import { jobListQuery, waitSecs, wantsSummary, type QueryParameters } from '../requests/list-parameters.js';
import { fieldsOfItems, rawFields } from '../../domain/raw-json.js';
import { replayBody } from '../requests/replay-input.js';
import { warnOfUnregistered } from '../requests/unregistered.js';
import { tracedSettings } from '../requests/trace.js';
import { sendPage } from '../answers/page.js';
import { noteMismatch, noteReplay, sendCreated, sendJson, sendNothing } from '../answers/reply.js';
import {
  anyOf,
  bodyErrors,
  described,
  errors,
  EXISTING,
  JOB_LOCATION,
  MISMATCH,
  nothing,
  REPLAYED,
  tagged,
  TENANT,
  vital,
} from './route-docs.js';
import { jobJson, jobSummaryJson } from '../answers/serialize.js';

interface ById {
  Params: { id: string };
}

export function jobRoutes(app: FastifyInstance, context: HttpContext): void {
  const { engine } = context;

  app.post<{ Body: CreateJob }>('/jobs', { schema: createSchema }, async (request, reply) => {
    const key = idempotencyKey(request, request.body.idempotency_key);
    const texts = rawFields(request.rawBody, CALLER_FIELDS);
    const spec = jobSpec(request.body, texts, tracedSettings(request, context));
    const use = key === null ? null : { key, digest: jobDigests()(spec, texts[1]) };
    const created = await engine.jobs.create(request.tenant, spec, use);
    await warnOfUnregistered(request, context, [spec]);
    if (created.existing !== true) return sendCreated(reply, created, 'job_id', 'jobs');
    return sendCreated(reply.header('millrace-existing', 'true'), created, 'job_id', 'jobs', 200);
  });

  app.post<{ Body: CreateJobBatch }>(
    '/jobs/batch',
    { schema: batchSchema, preValidation: boundBatch },
    async (request, reply) => {
      const { rawBody } = request;
      const texts = await context.turns.over(rawBody, fieldsOfItems(rawBody, 'jobs', CALLER_FIELDS));
      const settings = tracedSettings(request, context);
      const specs = request.body.jobs.map((body, i) => jobSpec(body, texts[i] ?? [], settings, `jobs[${i}].`));
      const keys = itemKeys(request, request.body.jobs);
      if (keys !== null) {
        const digestFor = jobDigests();
        const items = specs.map((spec, n) => {
          const key = keys[n] ?? null;
          return { spec, key: key === null ? null : { key, digest: digestFor(spec, texts[n]?.[1]) } };
        });
        const { ids, replayed, existing, mismatch } = await engine.jobs.createItems(request.tenant, items);
        if (mismatch) noteMismatch(reply);
        await warnOfUnregistered(request, context, specs);
        const found = areUnique(specs) && { existing };
        return sendJson(reply, 201, JSON.stringify({ job_ids: ids, count: ids.length, replayed, ...found }));
      }
      const key = idempotencyKey(request);
      const use = key === null ? null : { key, digest: digestOf(rawBody) };
      const { ids, replayed, existing, mismatch } = await engine.jobs.createBatch(request.tenant, specs, use);
      if (replayed) noteReplay(reply);
      if (mismatch) noteMismatch(reply);
      await warnOfUnregistered(request, context, specs);
      const found = areUnique(specs) && { existing };
      return sendJson(reply, 201, JSON.stringify({ job_ids: ids, count: ids.length, ...found }));
    },
  );

  app.get<{ Querystring: QueryParameters }>('/jobs', { schema: listSchema }, async (request, reply) => {
    const query = jobListQuery(request.query);
    if (wantsSummary(request.query)) {
      const page = await engine.jobs.summaries(request.tenant, query);
      return sendPage(request, reply, context, page, query, { key: 'jobs', itemJson: jobSummaryJson });
    }
    const page = await engine.jobs.list(request.tenant, query);
    return sendPage(request, reply, context, page, query, { key: 'jobs', itemJson: jobJson });
  });

  app.get<ById & { Querystring: QueryParameters }>(
    '/jobs/:id',
    { schema: getSchema, config: { waits: ({ query }) => Number((query as QueryParameters).wait_secs) > 0 } },
    async (request, reply) => {
      const secs = waitSecs(request.query);
      const { tenant, params } = request;
      const job = await (secs === 0
        ? engine.jobs.get(tenant, params.id)
        : engine.jobs.wait(tenant, params.id, secs, context.openCalls.open(reply)));
      return sendJson(reply, 200, jobJson(job));
    },
  );

  app.post<ById & { Body: ReplayRequest }>(
    '/jobs/:id/rerun',
    { schema: rerunSchema, preValidation: replayBody },
    async (request, reply) => {
      const kept = keptCheckpoints(request.body.keep_checkpoints);
      const created = await engine.jobs.rerun(request.tenant, request.params.id, idempotencyKey(request), kept);
      return sendCreated(reply, created, 'job_id', 'jobs');
    },
  );

  app.post<ById>('/jobs/:id/cancel', vital(cancelSchema), async (request, reply) => {
    await engine.jobs.cancel(request.tenant, request.params.id);
    return sendNothing(reply);
  });
}

const areUnique = (specs: readonly JobSpec[]): boolean => specs.some(({ config }) => config?.unique !== undefined);

/** Runs before the validator checks each item: the validator reports every problem, and this bounds their number. */
function boundBatch(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  const { jobs } = (request.body ?? {}) as { jobs?: unknown };
  if (!Array.isArray(jobs) || jobs.length <= BATCH_LIMITS.maximum) return done();
  const message = `must have at most ${BATCH_LIMITS.maximum} items`;
  done(invalidField('jobs', message));
}

const createSchema = {
  operationId: 'createJob',
  summary: 'Create a job',
  description:
    'The job is stored durably before the answer. With an `Idempotency-Key` that was used before, the answer is the ' +
    'id of the first job, whatever the body says. The key may also be sent as `idempotency_key` in the body. With ' +
    '`config.unique`, an existing job that holds the key is returned instead, with a 200.',
  tags: ['jobs'],
  security: TENANT,
  body: ref(CreateJob),
  docs: {
    headers: CreateJobHeaders,
    response: {
      200: described(ref(JobCreated), 'Nothing was created: a job of the same unique key was there.', {
        headers: { ...JOB_LOCATION, ...EXISTING },
      }),
      201: described(ref(JobCreated), 'Created, or found by its idempotency key.', {
        headers: { ...JOB_LOCATION, ...REPLAYED, ...MISMATCH },
      }),
      ...bodyErrors(409),
    },
  },
};

const batchSchema = {
  operationId: 'createJobBatch',
  summary: 'Create up to 1000 jobs',
  description:
    'All of them or none, in one transaction. One `Idempotency-Key` covers the whole batch; its jobs do not carry ' +
    'it. Or each job has its own, as `idempotency_key`: jobs that an earlier request created under those keys, in ' +
    'whatever batch, are returned, and the rest are created; the answer says which in `replayed`. Both together are ' +
    'a 400. A key that was used for another kind of request is a 409 that names the job, and nothing is created.',
  tags: ['jobs'],
  security: TENANT,
  body: ref(CreateJobBatch),
  docs: {
    headers: IdempotentHeaders,
    response: {
      201: described(ref(JobBatchCreated), 'Created, or found by their idempotency key.', {
        headers: { ...REPLAYED, ...MISMATCH },
      }),
      ...bodyErrors(409),
    },
  },
};

const rerunSchema = {
  operationId: 'rerunJob',
  summary: 'Run a job again',
  description:
    'Creates a new job with the same queue, task, payload and config, a full retry budget, and the same metadata ' +
    'with `rerun_of` added. The state of the first one does not matter, and does not change. The copy of a ' +
    "workflow's step belongs to no workflow; its payload carries the context that the step received.",
  tags: ['jobs'],
  security: TENANT,
  body: ref(ReplayRequest),
  docs: {
    params: IdParams,
    headers: IdempotentHeaders,
    response: {
      201: described(ref(JobCreated), 'The fresh job.', { headers: { ...JOB_LOCATION, ...REPLAYED } }),
      ...bodyErrors(403, 404, 409),
    },
  },
};

const listSchema = {
  operationId: 'listJobs',
  summary: 'List jobs',
  description:
    'Ordered by created_at, then id. Follow `next_cursor`: pages never repeat or skip a job. `prev_cursor` leads to ' +
    'the page before, which is in the same order. With `task`, a page may come back short: see `searched_to`.',
  tags: ['jobs'],
  security: TENANT,
  docs: {
    querystring: JobListQuery,
    ...tagged(anyOf(ref(JobPage), ref(JobSummaryPage)), 'A page; of summaries with `view=summary`.'),
  },
};

const getSchema = {
  operationId: 'getJob',
  summary: 'Get a job',
  description:
    'The whole record: state, payload, result, and what the running attempt last reported. With `wait_secs`, the ' +
    'answer waits until the job has ended, or that long.',
  tags: ['jobs'],
  security: TENANT,
  docs: {
    params: IdParams,
    querystring: GetJobQuery,
    response: { 200: described(ref(Job), 'The job.'), ...errors(400, 401, 403, 404, 503) },
  },
};

const cancelSchema = {
  operationId: 'cancelJob',
  summary: 'Cancel a job',
  description: 'Takes effect at once. The worker of a running job learns of it at its next heartbeat.',
  tags: ['jobs'],
  security: TENANT,
  docs: { params: IdParams, response: { 204: nothing('Cancelled.'), ...bodyErrors(403, 404, 409) } },
};
