import { IdParams, JobProgressEvent, JobStatusEvent, ref } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { JobNews } from '../../engine/api.js';
import type { HttpContext } from '../context.js';
import { MAX_STREAM_MS, streamEvents } from '../answers/event-stream.js';
import { errors, eventStream, TENANT } from './route-docs.js';
import { jobJsonLine, onOneLine } from '../answers/serialize.js';

export function eventRoutes(app: FastifyInstance, context: HttpContext): void {
  const { engine, openCalls } = context;
  // No HEAD route: answering with the headers of a stream would mean opening one.
  app.get<{ Params: { id: string } }>(
    '/jobs/:id/events',
    { schema: eventsSchema, config: { load: 'waiting' }, exposeHeadRoute: false },
    async (request, reply) => {
      const signal = openCalls.open(reply, MAX_STREAM_MS);
      const states = await engine.jobs.watch(request.tenant, request.params.id, signal);
      reply.hijack();
      try {
        await streamEvents(request, reply, context, { states, signal, format: eventText });
      } catch (error) {
        request.log.warn({ err: error, reqId: request.id }, 'an event stream broke off');
        reply.raw.destroy();
      }
    },
  );
}

const eventText = (news: JobNews): string =>
  news.kind === 'status'
    ? `event: status\ndata: ${jobJsonLine(news.job)}\n\n`
    : `event: progress\ndata: ${onOneLine(news.progress)}\n\n`;

const eventsSchema = {
  operationId: 'watchJob',
  summary: 'Follow a job',
  description:
    'A stream of server-sent events. `status` carries the whole job as JSON: first its current state, then every ' +
    'transition in order. `progress` carries what the running attempt has reported since, the latest if there were ' +
    'several within a moment. The stream ends after a final state, or after 15 minutes. Comment lines ' +
    'keep idle connections alive. Events carry no id: a client that reconnects starts from the current state.',
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
