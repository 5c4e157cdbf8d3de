import { randomBytes } from 'node:crypto';

/** W3C Trace Context, version 00: where in which trace something happens. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Whether whoever began the trace records it. */
  readonly sampled: boolean;
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const ZEROS = /^0+$/;
const SAMPLED = 1;

/** Null for what is no `traceparent`, which then has no effect. */
export function parseTraceparent(text: unknown): TraceContext | null {
  const [, traceId, spanId, flags] = (typeof text === 'string' && TRACEPARENT.exec(text)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

export const traceparentOf = ({ traceId, spanId, sampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

/** A new place in the same trace. */
export const childOf = ({ traceId, sampled }: TraceContext): TraceContext => ({
  traceId,
  spanId: randomBytes(8).toString('hex'),
  sampled,
});

/** The trace that a job's metadata carry. Most carry none, and are not parsed. */
export function traceOfMetadata(metadata: string | null): TraceContext | null {
  if (metadata?.includes('"traceparent"') !== true) return null;
  return parseTraceparent((JSON.parse(metadata) as { traceparent?: unknown }).traceparent);
}
