import { rawFields } from '../domain/raw-json.js';
import type { JobRecord } from '../domain/records.js';
import { parseTrace, type TraceContext } from '../telemetry/trace-context.js';
import type { Tracer } from '../telemetry/tracing.js';
import type { AttemptEnd } from './attempt.js';

/** Each run of an in-process handler is a span of the trace that its job carries. */
export function recordAttempt(tracer: Tracer, job: JobRecord, runMs: number, end: AttemptEnd): void {
  const parent = traceOfMetadata(job.metadata);
  if (parent === null) return;
  const error = end.kind === 'failed' ? end.error : end.kind === 'completed' ? undefined : end.kind;
  tracer.begin(parent, Date.now() - runMs).end({
    name: `run ${job.task_name}`,
    kind: 'consumer',
    attributes: {
      'messaging.system': 'millrace',
      'messaging.operation.type': 'process',
      'messaging.destination.name': job.queue_name,
      'messaging.message.id': job.id,
      'millrace.task': job.task_name,
    },
    ...(error !== undefined && { error }),
  });
}

/** The trace that a job's metadata carry. Most carry none, and are not looked into. */
function traceOfMetadata(metadata: string | null): TraceContext | null {
  if (metadata?.includes('"traceparent"') !== true) return null;
  const [traceparent, tracestate] = rawFields(metadata, ['traceparent', 'tracestate']).map((text) =>
    text?.startsWith('"') === true ? (JSON.parse(text) as string) : undefined,
  );
  return parseTrace(traceparent, tracestate);
}
