import {
  CreateWorkflow,
  IdempotentHeaders,
  IdParams,
  ref,
  ResumeWorkflow,
  Workflow,
  WorkflowCreated,
  WorkflowDiagram,
  WORKFLOW_MAX_RESUMES,
  WorkflowListQuery,
  WorkflowPage,
  WorkflowResumed,
  WorkflowSteps,
  WorkflowSummaryPage,
} from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { HttpContext } from '../context.js';
import { digestOf } from '../requests/digest.js';
import { idempotencyKey } from '../requests/idempotency-key.js';
import { wantsSummary, workflowListQuery, type QueryParameters } from '../requests/list-parameters.js';
import { sendPage } from '../answers/page.js';
import { noteReplay, sendCreated, sendJson, sendNothing } from '../answers/reply.js';
import {
  anyOf,
  bodyErrors,
  described,
  errors,
  MISMATCH,
  nothing,
  REPLAYED,
  tagged,
  TENANT,
  vital,
} from './route-docs.js';
import { workflowJson, workflowSummaryJson } from '../answers/serialize.js';
import { warnOfUnregistered } from '../requests/unregistered.js';
import { tracedSettings } from '../requests/trace.js';
import { resumeBody, resumeSpec } from '../requests/resume-input.js';
import { fieldsOfItems } from '../../domain/raw-json.js';
import { boundSteps, STEP_FIELDS, workflowSpec } from '../requests/workflow-input.js';

interface ById {
  Params: { id: string };
}

export function workflowRoutes(app: FastifyInstance, context: HttpContext): void {
  const { workflows } = context.engine;

  app.post<{ Body: CreateWorkflow }>(
    '/workflows',
    { schema: createSchema, preValidation: boundSteps },
    async (request, reply) => {
      const { body, rawBody } = request;
      const texts = await context.turns.over(rawBody, fieldsOfItems(rawBody, 'steps', STEP_FIELDS));
      const spec = workflowSpec(body, rawBody, texts, tracedSettings(request, context));
      const key = idempotencyKey(request);
      const use = key === null ? null : { key, digest: digestOf(rawBody) };
      const created = await workflows.create(request.tenant, spec, use);
      const named = spec.steps.map((step) => ({ task: step.task, queue: step.queue ?? context.defaultQueue }));
      await warnOfUnregistered(request, context, named);
      return sendCreated(reply, created, 'workflow_id', 'workflows');
    },
  );

  app.get<{ Querystring: QueryParameters }>('/workflows', { schema: listSchema }, async (request, reply) => {
    const query = workflowListQuery(request.query);
    if (wantsSummary(request.query)) {
      const page = await workflows.summaries(request.tenant, query);
      return sendPage(request, reply, context, page, query, { key: 'workflows', itemJson: workflowSummaryJson });
    }
    const page = await workflows.list(request.tenant, query);
    return sendPage(request, reply, context, page, query, { key: 'workflows', itemJson: workflowJson });
  });

  app.get<ById>('/workflows/:id', { schema: getSchema }, async (request, reply) =>
    sendJson(reply, 200, workflowJson(await workflows.get(request.tenant, request.params.id))),
  );

  app.post<ById>('/workflows/:id/cancel', vital(cancelSchema), async (request, reply) => {
    await workflows.cancel(request.tenant, request.params.id);
    return sendNothing(reply);
  });

  app.post<ById & { Body: ResumeWorkflow | undefined }>(
    '/workflows/:id/resume',
    { schema: resumeSchema, preValidation: resumeBody },
    async (request, reply) => {
      const { id } = request.params;
      const spec = resumeSpec(request.body ?? {}, request.rawBody, context);
      if (request.body?.dry_run === true) {
        const steps = await workflows.previewResume(request.tenant, id, spec);
        return sendJson(reply, 200, JSON.stringify({ workflow_id: id.toLowerCase(), steps }));
      }
      const { steps, replayed } = await workflows.resume(request.tenant, id, spec, idempotencyKey(request));
      if (replayed) noteReplay(reply);
      return sendJson(reply, 202, JSON.stringify({ workflow_id: id.toLowerCase(), steps }));
    },
  );

  app.get<ById>('/workflows/:id/steps', { schema: stepsSchema }, async (request, reply) => {
    const steps = await workflows.steps(request.tenant, request.params.id);
    return sendJson(reply, 200, JSON.stringify({ steps }));
  });

  app.get<ById>('/workflows/:id/diagram', { schema: diagramSchema }, async (request, reply) => {
    const diagram = await workflows.diagram(request.tenant, request.params.id);
    return sendJson(reply, 200, JSON.stringify({ format: 'mermaid', diagram }));
  });
}

const SHARED = { tags: ['workflows'], security: TENANT };

const createSchema = {
  ...SHARED,
  operationId: 'createWorkflow',
  summary: 'Create a workflow',
  description:
    'Steps without dependencies are enqueued at once, the others when their dependencies have completed. A step runs ' +
    'on its own `queue`, or else on the default queue. A graph with a cycle is refused, and the message names its ' +
    'steps. A step with `when` runs only if its condition holds when its turn comes; a step with `wait` waits for a ' +
    'signal instead of running a task.',
  body: ref(CreateWorkflow),
  docs: {
    headers: IdempotentHeaders,
    response: {
      201: described(ref(WorkflowCreated), 'Created, or found by its idempotency key.', {
        headers: { Location: { type: 'string', description: 'Path of the workflow.' }, ...REPLAYED, ...MISMATCH },
      }),
      ...bodyErrors(409),
    },
  },
};

const listSchema = {
  ...SHARED,
  operationId: 'listWorkflows',
  summary: 'List workflows',
  description:
    'Ordered by created_at, then id. Follow `next_cursor`: pages never repeat or skip a workflow. With `name`, a ' +
    'page may come back short: see `searched_to`.',
  docs: {
    querystring: WorkflowListQuery,
    ...tagged(anyOf(ref(WorkflowPage), ref(WorkflowSummaryPage)), 'A page; of summaries with `view=summary`.'),
  },
};

const getSchema = {
  ...SHARED,
  operationId: 'getWorkflow',
  summary: 'Get a workflow',
  description: 'The whole record: state, definitions of the steps, and the context as it is now.',
  docs: {
    params: IdParams,
    response: { 200: described(ref(Workflow), 'The workflow.'), ...errors(400, 401, 403, 404, 503) },
  },
};

const cancelSchema = {
  ...SHARED,
  operationId: 'cancelWorkflow',
  summary: 'Cancel a workflow',
  description:
    'Every unfinished step is cancelled at once, and so is its job. The worker of a running one learns of it at its ' +
    'next heartbeat. No step is enqueued afterwards.',
  docs: { params: IdParams, response: { 204: nothing('Cancelled.'), ...bodyErrors(403, 404, 409) } },
};

const resumeSchema = {
  ...SHARED,
  operationId: 'resumeWorkflow',
  summary: 'Resume a workflow',
  description:
    'Continues a workflow that failed, failed in part or was cancelled: the named steps run again, or else every step ' +
    'that failed or was cancelled, and so does everything behind them. Each gets a new job when its turn comes. The ' +
    'context is rebuilt without the results of those steps, and the keys of `context` override it. Open dead letters ' +
    'of the earlier jobs count as replayed. A step whose dependency neither completed nor runs again is refused. With ' +
    `\`dry_run\` nothing changes. A workflow can be resumed ${WORKFLOW_MAX_RESUMES} times.`,
  body: ref(ResumeWorkflow),
  docs: {
    params: IdParams,
    headers: IdempotentHeaders,
    response: {
      200: described(ref(WorkflowResumed), 'The steps that would run again: with `dry_run`.'),
      202: described(ref(WorkflowResumed), 'It continues.', { headers: REPLAYED }),
      ...bodyErrors(403, 404, 409),
    },
  },
};

const stepsSchema = {
  ...SHARED,
  operationId: 'listWorkflowSteps',
  summary: 'List the steps of a workflow',
  description: 'All of them in the order of their definition, with the job that runs each.',
  docs: {
    params: IdParams,
    response: { 200: described(ref(WorkflowSteps), 'The steps.'), ...errors(400, 401, 403, 404, 503) },
  },
};

const diagramSchema = {
  ...SHARED,
  operationId: 'getWorkflowDiagram',
  summary: 'Draw a workflow',
  description: 'Mermaid source of the graph, coloured by the state of each step.',
  docs: {
    params: IdParams,
    response: { 200: described(ref(WorkflowDiagram), 'The diagram.'), ...errors(400, 401, 403, 404, 503) },
  },
};
