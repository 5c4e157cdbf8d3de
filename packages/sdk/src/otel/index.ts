/**
 * OpenTelemetry: spans of producers and workers are linked through `metadata.traceparent` (W3C Trace Context). Written
 * against the few methods of `@opentelemetry/api` that it uses, so that it brings no version of its own.
 *
 * @example
 * import * as api from '@opentelemetry/api';
 * const hooks = otel(api);
 * const millrace = new Millrace({ hooks });
 * await new Worker({ queues: { emails: 20 }, handlers, hooks }).run();
 */
import { thrownText } from '../rules/thrown.js';
import type { Hooks } from '../client/options.js';
import type { JsonObject } from '../json/object.js';
import type { RunningJob } from '../task/types.js';

/** The part of a span that is used. */
export interface OtelSpan {
  end(): void;
  recordException(exception: Error): void;
  setStatus(status: { code: number; message?: string }): unknown;
}

/** The part of `@opentelemetry/api` that is used. */
export interface OtelApi<Context = unknown> {
  readonly context: {
    active(): Context;
    with<T>(context: Context, run: () => T): T;
  };
  readonly propagation: {
    inject(context: Context, carrier: Record<string, string>): void;
    extract(context: Context, carrier: Record<string, string>): Context;
  };
  readonly trace: {
    getTracer(name: string): {
      startSpan(
        name: string,
        options: { kind?: number; attributes?: Record<string, string | number> },
        context: Context,
      ): OtelSpan;
    };
    setSpan(context: Context, span: never): Context;
  };
}

/** Of `SpanKind` and `SpanStatusCode`: numbers that the specification fixes. */
const PRODUCER = 3;
const CONSUMER = 4;
const ERROR = 2;

/** The fields of Trace Context; nothing else is taken from a job's metadata. */
const FIELDS = ['traceparent', 'tracestate'] as const;

/**
 * Hooks for `new Millrace()` and `new Worker()`. Every job that is created carries the trace of its creator;
 * every run of a handler is a span of that trace, with what the handler does inside it.
 */
export function otel<Context>(
  api: OtelApi<Context>,
): Required<Pick<Hooks, 'onEnqueue' | 'onRequest' | 'wrapJob' | 'onReport'>> {
  const tracer = api.trace.getTracer('@millrace/sdk');
  /** The span of each run, for as long as its job is held: the report is made outside of it. */
  const runs = new WeakMap<RunningJob, Record<string, string>>();
  return {
    onEnqueue({ task }) {
      const parent = api.context.active();
      const attributes = { 'messaging.system': 'millrace', 'messaging.operation.type': 'send', 'millrace.task': task };
      const span = tracer.startSpan(`enqueue ${task}`, { kind: PRODUCER, attributes }, parent);
      const carrier: Record<string, string> = {};
      api.propagation.inject(api.trace.setSpan(parent, span as never), carrier);
      span.end();
      return traceFields(carrier);
    },
    /** Requests made inside a span belong to it; a server that traces shows them there. */
    onRequest({ headers }) {
      const carrier: Record<string, string> = {};
      api.propagation.inject(api.context.active(), carrier);
      Object.assign(headers, traceFields(carrier));
    },
    async wrapJob<T>(job: RunningJob, run: () => Promise<T>): Promise<T> {
      const parent = api.propagation.extract(api.context.active(), traceFields(job.metadata));
      const span = tracer.startSpan(`run ${job.task}`, { kind: CONSUMER, attributes: attributesOf(job) }, parent);
      const inside = api.trace.setSpan(parent, span as never);
      const carrier: Record<string, string> = {};
      api.propagation.inject(inside, carrier);
      runs.set(job, carrier);
      try {
        return await api.context.with(inside, run);
      } catch (error) {
        const exception = error instanceof Error ? error : new Error(thrownText(error));
        span.recordException(exception);
        span.setStatus({ code: ERROR, message: exception.message });
        throw error;
      } finally {
        span.end();
      }
    },
    /** The server's part of a run belongs to it, even if others are reported in the same call. */
    onReport(job) {
      const { traceparent } = traceFields(runs.get(job) ?? job.metadata);
      return traceparent === undefined ? {} : { traceparent };
    },
  };
}

function attributesOf(job: RunningJob): Record<string, string | number> {
  return {
    'messaging.system': 'millrace',
    'messaging.operation.type': 'process',
    'messaging.destination.name': job.queue,
    'messaging.message.id': job.id,
    'millrace.task': job.task,
    'millrace.attempt': job.attempt,
  };
}

function traceFields(from: JsonObject): Record<string, string> {
  const found = FIELDS.flatMap((field) => (typeof from[field] === 'string' ? [[field, from[field]] as const] : []));
  return Object.fromEntries(found);
}
