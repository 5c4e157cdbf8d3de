import { IdParams, JobProgressEvent, JobStatusEvent, ref, WorkflowStatusEvent } from '@millrace/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WorkflowSnapshot } from '../../domain/workflow-records.js';
import type { JobNews } from '../../engine/api.js';
import type { HttpContext } from '../context.js';
import { MAX_STREAM_MS, streamEvents, type EventSource } from '../answers/event-stream.js';
import { errors, eventStream, TENANT } from './route-docs.js';
import { jobJsonLine, onOneLine, workflowEventLine } from '../answers/serialize.js';

export function eventRoutes(app: FastifyInstance, context: HttpContext): void {
  const { engine, openCalls } = context;
  // No HEAD route: answering with the headers of a stream would mean opening one.
  app.get<{ Params: { id: string } }>(
    '/jobs/:id/events',
    { schema: eventsSchema, config: { load: 'waiting' }, exposeHeadRoute: false },
    async (request, reply) => {
      const signal = openCalls.open(reply, MAX_STREAM_MS);
      const states = await engine.jobs.watch(request.tenant, request.params.id, signal);
      await stream(request, reply, context, { states, signal, format: eventText });
    },
  );

  app.get<{ Params: { id: string } }>(
    '/workflows/:id/events',
    { schema: workflowEventsSchema, config: { load: 'waiting' }, exposeHeadRoute: false },
    async (request, reply) => {
      const signal = openCalls.open(reply, MAX_STREAM_MS);
      const states = await engine.workflows.watch(request.tenant, request.params.id, signal);
      await stream(request, reply, context, { states, signal, format: workflowEvent });
    },
  );
}

/** From here on the answer is no longer the framework's: a failure can only break it off. */
async function stream<T extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  source: EventSource<T>,
): Promise<void> {
  reply.hijack();
  try {
    await streamEvents(request, reply, context, source);
  } catch (error) {
    request.log.warn({ err: error, reqId: request.id }, 'an event stream broke off');
    reply.raw.destroy();
  }
}

const workflowEvent = (snapshot: WorkflowSnapshot): string => `event: status\ndata: ${workflowEventLine(snapshot)}\n\n`;

const eventText = (news: JobNews): string =>
  news.kind === 'status'
    ? `event: status\ndata: ${jobJsonLine(news.job)}\n\n`
    : `event: progress\ndata: ${onOneLine(news.progress)}\n\n`;

const eventsSchema = {
  operationId: 'watchJob',
  summary: 'Follow a job',
  description:
    'A stream of server-sent events. `status` carries the whole job as JSON: first its current state, then every ' +
    'transition in order. `progress` carries what the running attempt has reported since; if it reported several ' +
    'times in quick succession, the latest. The stream ends after a final state, or after 15 minutes. Comment lines ' +
    'keep idle connections alive. Events carry no id: a client that reconnects starts from the current state. A ' +
    'tenant may have a limited number of streams open at a time: beyond that, the call is a 503.',
  tags: ['jobs'],
  security: TENANT,
  docs: {
    params: IdParams,
    response: {
      200: eventStream(
        'The stream.',
        [ref(JobStatusEvent), ref(JobProgressEvent)],
        'event: status\ndata: {"id":"019bd0e5-…","status":"running",…}\n\n',
      ),
      ...errors(400, 401, 403, 404, 503),
    },
  },
};

const workflowEventsSchema = {
  operationId: 'watchWorkflow',
  summary: 'Follow a workflow',
  description:
    'A stream of server-sent events. Each is called `status` and carries the workflow and its steps as JSON: first ' +
    'as they are, then whenever either has changed. Changes that follow each other within about a second may come as ' +
    'one event, and so may those that happen while a client is slow to read: every state that lasts is shown, and ' +
    'the last one always is. The stream ends like that of a job. A limited number of steps may be watched at a time: ' +
    'beyond that, the call is a 503.',
  tags: ['workflows'],
  security: TENANT,
  docs: {
    params: IdParams,
    response: {
      200: eventStream(
        'The stream.',
        [ref(WorkflowStatusEvent)],
        'event: status\ndata: {"workflow":{…},"steps":[…]}\n\n',
      ),
      ...errors(400, 401, 403, 404, 503),
    },
  },
};
