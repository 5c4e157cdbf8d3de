import type { Report } from '@millrace/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MillraceError } from '../../domain/errors.js';
import { isEmptyObject } from '../../domain/json-members.js';
import { rawFields } from '../../domain/raw-json.js';
import type { JsonText } from '../../domain/records.js';
import { parseTrace, traceparentOf, type TraceContext } from '../../telemetry/trace-context.js';
import type { Tracer } from '../../telemetry/tracing.js';
import type { InputSettings } from './caller-text.js';

/** A request that belongs to a trace is a span of it. Without a tracer there are no hooks, and no cost. */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { traceparent, tracestate } = request.headers;
    const parent = parseTrace(traceparent, tracestate);
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
  span === null ? settings : { ...pick(settings), trace: span.context };

const pick = ({ defaultQueue, maxPayloadBytes, dev = false }: InputSettings): InputSettings => ({
  ...{ defaultQueue, maxPayloadBytes, dev },
});

/** The metadata with the trace of the request, unless the caller has put one there. The rest stays as it was sent. */
export function withTrace(metadata: JsonText | null, trace: TraceContext | null): JsonText | null {
  if (trace === null) return metadata;
  const given = metadata ?? '{}';
  const [traceparent, tracestate] = rawFields(given, ['traceparent', 'tracestate']);
  if (traceparent !== undefined) return metadata;
  const member = `"traceparent":"${traceparentOf(trace)}"`;
  const hasState = trace.state !== '' && tracestate === undefined;
  const members = hasState ? `${member},"tracestate":${JSON.stringify(trace.state)}` : member;
  return isEmptyObject(given) ? `{${members}}` : `{${members},${given.slice(1)}`;
}

/** Each of many reports in one call is a span of the trace that it names: the call itself belongs to none of them. */
export function traceReports(
  tracer: Tracer,
  startedAt: number,
  reports: readonly Partial<Report>[],
  answers: readonly unknown[],
): void {
  reports.forEach((report, index) => {
    const parent = parseTrace((report as Partial<Report> | null)?.traceparent);
    if (parent === null) return;
    const answer = answers[index];
    tracer.begin(parent, startedAt).end({
      name: `report ${report.outcome}`,
      kind: 'server',
      attributes: {
        'messaging.system': 'millrace',
        'messaging.operation.type': 'settle',
        'messaging.message.id': String(report.job_id),
      },
      ...(answer instanceof MillraceError && { error: answer.message }),
    });
  });
}
