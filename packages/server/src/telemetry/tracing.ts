import type { Logger } from 'pino';
import { childOf, type TraceContext } from './trace-context.js';

/**
 * Spans for a collector of OpenTelemetry, by OTLP over HTTP in JSON. Only what belongs to a trace that somebody else
 * has begun, and records, becomes a span: the service begins none.
 *
 * Nothing waits for the collector. Spans gather in memory, at most MAX_WAITING of them, and are sent together, one
 * request at a time; what does not fit, or is not accepted, is dropped and counted.
 */
export interface TracerOptions {
  /** Without the path: `/v1/traces` is added. */
  readonly endpoint: string;
  readonly version: string;
  readonly logger: Logger;
  readonly onDropped: (spans: number) => void;
}

export interface SpanFacts {
  readonly name: string;
  readonly kind: 'server' | 'consumer';
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The message of the error that it ended with. */
  readonly error?: string;
}

/** A span that has begun: its place in the trace, and how to end it. */
export interface ActiveSpan {
  readonly context: TraceContext;
  end(facts: SpanFacts): void;
}

const MAX_WAITING = 4_096;
const MAX_SENT = 512;
const EVERY_MS = 2_000;
const TIMEOUT_MS = 5_000;
/** Milliseconds between two lines about a collector that does not answer. */
const COMPLAIN_MS = 60_000;
const MAX_ERROR_LENGTH = 1_000;
/** What the protocol calls them. */
const KINDS = { server: 2, consumer: 5 } as const;
const STATUS_ERROR = 2;

export class Tracer {
  #waiting: object[] = [];
  #sending: Promise<boolean> | null = null;
  #complainedAt = -Infinity;
  readonly #timer = setInterval(() => void this.#send(), EVERY_MS).unref();

  constructor(private readonly options: TracerOptions) {}

  /** A span below `parent`, from now on or from an earlier moment. Of a trace that is not recorded nothing is kept. */
  begin(parent: TraceContext, startedAt = Date.now()): ActiveSpan {
    if (!parent.sampled) return { context: parent, end: () => undefined };
    const context = childOf(parent);
    return { context, end: (facts) => this.#add(parent, context, startedAt, facts) };
  }

  /** Sends what has gathered, and ends. A collector that does not take it is given up at once: nobody waits for it. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sending;
    while (this.#waiting.length > 0 && (await this.#send()));
    if (this.#waiting.length > 0) this.options.onDropped(this.#waiting.splice(0).length);
  }

  #add(parent: TraceContext, { traceId, spanId }: TraceContext, startedAt: number, facts: SpanFacts): void {
    if (this.#waiting.length >= MAX_WAITING) return this.options.onDropped(1);
    const { name, kind, attributes, error } = facts;
    this.#waiting.push({
      traceId,
      spanId,
      parentSpanId: parent.spanId,
      ...(parent.state !== '' && { traceState: parent.state }),
      name,
      kind: KINDS[kind],
      startTimeUnixNano: nanos(startedAt),
      endTimeUnixNano: nanos(Date.now()),
      attributes: attributesOf(attributes),
      ...(error !== undefined && { status: { code: STATUS_ERROR, message: error.slice(0, MAX_ERROR_LENGTH) } }),
    });
    if (this.#waiting.length >= MAX_SENT) void this.#send();
  }

  /** Resolves to whether the collector took them. */
  #send(): Promise<boolean> {
    if (this.#waiting.length === 0) return Promise.resolve(true);
    this.#sending ??= this.#post(this.#waiting.splice(0, MAX_SENT)).finally(() => (this.#sending = null));
    return this.#sending;
  }

  async #post(spans: readonly object[]): Promise<boolean> {
    const { endpoint, version, onDropped } = this.options;
    const resource = { attributes: attributesOf({ 'service.name': 'millrace', 'service.version': version }) };
    const scopeSpans = [{ scope: { name: '@millrace/server', version }, spans }];
    try {
      const answer = await fetch(`${endpoint}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`the collector answered ${answer.status}`);
      return true;
    } catch (error) {
      onDropped(spans.length);
      this.#complain(error);
      return false;
    }
  }

  #complain(error: unknown): void {
    const now = performance.now();
    if (now - this.#complainedAt < COMPLAIN_MS) return;
    this.#complainedAt = now;
    this.options.logger.warn(
      { err: error },
      'spans were not accepted by the collector of --otlp-endpoint, and dropped',
    );
  }
}

const nanos = (ms: number): string => `${Math.round(ms * 1000)}000`;

const attributesOf = (attributes: Readonly<Record<string, string | number>>): object[] =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
