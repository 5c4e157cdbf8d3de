import { randomBytes } from 'node:crypto';

/** W3C Trace Context, version 00: where in which trace something happens. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Whether whoever began the trace records it. */
  readonly sampled: boolean;
  /** What systems of the trace tell each other (`tracestate`); passed on as it is, and empty if there is none. */
  readonly state: string;
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const ZEROS = /^0+$/;
const SAMPLED = 1;
/** As long as everybody has to pass on; a longer one is left out as a whole, as the specification allows. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Null for what is no `traceparent`, which then has no effect. A `tracestate` means nothing without it. */
export function parseTrace(text: unknown, state?: unknown): TraceContext | null {
  const [, traceId, spanId, flags] = (typeof text === 'string' && TRACEPARENT.exec(text)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return null;
  const sampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  return { traceId, spanId, sampled, state: typeof state === 'string' && TRACESTATE.test(state) ? state : '' };
}

export const traceparentOf = ({ traceId, spanId, sampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

/** A new place in the same trace. */
export const childOf = ({ traceId, sampled, state }: TraceContext): TraceContext => ({
  traceId,
  spanId: randomBytes(8).toString('hex'),
  sampled,
  state,
});
