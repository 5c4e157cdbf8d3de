import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseTraceparent, traceparentOf } from '../../telemetry/trace-context.js';
import type { Tracer } from '../../telemetry/tracing.js';
import type { InputSettings } from './caller-text.js';

/** A request that belongs to a trace is a span of it. Without a tracer there are no hooks, and no cost. */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const parent = parseTraceparent(request.headers.traceparent);
    if (parent !== null) request.span = tracer.begin(parent);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { span, method, routeOptions } = request;
    const route = routeOptions.url ?? 'unknown';
    span?.end({
      name: `${method} ${route}`,
      kind: 'server',
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': reply.statusCode,
      },
      ...(reply.statusCode >= 500 && { error: `answered ${reply.statusCode}` }),
    });
    done();
  });
}

/** The settings for what this request creates: its jobs carry its trace on. Most requests belong to none. */
export const tracedSettings = ({ span }: FastifyRequest, settings: InputSettings): InputSettings =>
  span === null ? settings : { ...pick(settings), traceparent: traceparentOf(span.context) };

const pick = ({ defaultQueue, maxPayloadBytes }: InputSettings): InputSettings => ({ defaultQueue, maxPayloadBytes });

/** The metadata with the trace of the request, unless the caller has put one there. The rest stays as it was sent. */
export function withTrace(metadata: unknown, text: string | null, traceparent: string | null): string | null {
  if (traceparent === null) return text;
  const member = `"traceparent":"${traceparent}"`;
  if (text === null || typeof metadata !== 'object' || metadata === null) return `{${member}}`;
  if (Object.hasOwn(metadata, 'traceparent')) return text;
  const rest = text.slice(text.indexOf('{') + 1);
  return Object.keys(metadata).length === 0 ? `{${member}}` : `{${member},${rest}`;
}
