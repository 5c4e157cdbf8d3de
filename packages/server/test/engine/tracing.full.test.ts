import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Millrace, silentLogger, task, workflow } from '@millrace/sdk';
import { otel, type OtelApi } from '@millrace/sdk/otel';
import { Worker, type WorkerOptions } from '@millrace/sdk/worker';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { childOf, parseTrace, traceparentOf, type TraceContext } from '../../src/telemetry/trace-context.js';
import { startTestServer, WORKER_TOKEN, type TestServer } from '../support/server.js';
import { until } from '../support/until.js';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly traceState?: string;
  readonly status?: { readonly code: number; readonly message: string };
}

/** A collector that keeps what it is sent. */
const spans: Span[] = [];
let collector: Server;
let server: TestServer;

beforeAll(async () => {
  collector = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      expect(request.url).toBe('/v1/traces');
      const { resourceSpans } = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const otlpEndpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  server = await startTestServer({ config: { otlpEndpoint } });
});
afterAll(async () => {
  collector.closeAllConnections();
  collector.close();
  await server.stop();
});

type Place = TraceContext | null;

/** What the SDK needs of `@opentelemetry/api`. Its spans are collected like those of the server. */
function openTelemetry(): OtelApi<Place> {
  const storage = new AsyncLocalStorage<Place>();
  const places = new WeakMap<object, Place>();
  return {
    context: { active: () => storage.getStore() ?? null, with: (place, run) => storage.run(place, run) },
    propagation: {
      inject: (place, carrier) => void (place && Object.assign(carrier, { traceparent: traceparentOf(place) })),
      extract: (_place, { traceparent, tracestate }) => parseTrace(traceparent, tracestate),
    },
    trace: {
      getTracer: () => ({
        startSpan: (name, _options, parent) => {
          const place = parent && childOf(parent);
          const end = (): void => void (place && spans.push({ ...place, name, parentSpanId: parent.spanId }));
          const span = { end, recordException: () => undefined, setStatus: () => undefined };
          places.set(span, place);
          return span;
        },
      }),
      setSpan: (_place, span) => places.get(span) ?? null,
    },
  };
}

/** A client and a worker of the SDK that trace; the worker runs until the test has ended. */
function tracingSdk(queue: string, handlers: WorkerOptions['handlers']) {
  const api = openTelemetry();
  const [hooks, url] = [otel(api), server.url];
  const options = { url, token: WORKER_TOKEN, queues: { [queue]: 4 }, handlers, hooks, logger: silentLogger } as const;
  const worker = new Worker({ ...options, keeper: 'inline', poll: '1s', signals: false });
  const running = worker.run();
  onTestFinished(async () => {
    await worker.stop();
    await running;
  });
  return { api, client: new Millrace({ url, token: TENANT_KEY, hooks }) };
}

/** The names of the spans from the first one of the trace down to this one. */
function pathTo(span: Span): string[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent === undefined ? [span.name] : [...pathTo(parent), span.name];
}

const TENANT_KEY = 'key-of-tenant-a-5f1c';
const PARENT = 'b7ad6b7169203331';
let traces = 0;
const newTrace = (): string => `4bf92f3577b34da6a3ce929d0e${String(++traces).padStart(6, '0')}`;

/** As a client inside a span of that trace. */
async function post(
  path: string,
  body: object,
  traceparent: string,
  tracestate?: string,
): Promise<Record<string, string>> {
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TENANT_KEY}`,
      'content-type': 'application/json',
      traceparent,
      ...(tracestate !== undefined && { tracestate }),
    },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Record<string, string>;
}

/** The caller's own span first: it ends with its answer, and by then a handler may have run. */
const spansOf = (traceId: string, count: number): Promise<readonly Span[]> =>
  until(
    () => {
      const found = spans.filter((span) => span.traceId === traceId);
      const isCalled = ({ parentSpanId }: Span): boolean => parentSpanId === PARENT;
      const sorted = [...found.filter(isCalled), ...found.filter((span) => !isCalled(span))];
      return found.length >= count ? sorted : `${found.length} spans so far`;
    },
    { what: `${count} spans of the trace` },
  );

const metadataOf = async (id: string): Promise<Record<string, unknown>> =>
  (await server.a.get(`/api/v1/jobs/${id}`)).body.metadata as Record<string, unknown>;

describe('a trace', () => {
  it('leads from the create call through every attempt of a handler', async () => {
    const trace = newTrace();
    const config = { max_retries: 1, retry_delay_secs: 0, retry_jitter: 0 };
    await post('/jobs', { task_name: 'fail', payload: {}, config }, `00-${trace}-${PARENT}-01`);
    const [create, ...runs] = await spansOf(trace, 3);
    expect(create).toMatchObject({ name: 'POST /api/v1/jobs', parentSpanId: PARENT });
    expect(runs).toHaveLength(2);
    for (const run of runs)
      expect(run).toMatchObject({ name: 'run fail', parentSpanId: create!.spanId, status: { code: 2 } });
  });

  it('is handed to a remote worker with the lease, beside the metadata of the caller', async () => {
    const trace = newTrace();
    const job = { task_name: 't', config: { queue: 'remote' }, metadata: { mine: [1, 2] } };
    await post('/jobs/batch', { jobs: [job, { ...job, metadata: {} }] }, `00-${trace}-${PARENT}-01`);
    const { body } = await server.worker.post('/api/v1/queues/remote/lease', { max_jobs: 2 });
    const [create] = await spansOf(trace, 1);
    const traceparent = `00-${trace}-${create!.spanId}-01`;
    const found = (body.jobs as { job: { metadata: object } }[]).map((leased) => leased.job.metadata);
    expect(found).toEqual([{ traceparent, mine: [1, 2] }, { traceparent }]);
  });

  it('leads through the steps of a workflow', async () => {
    const trace = newTrace();
    const steps = [
      { name: 'one', task_name: 'echo' },
      { name: 'two', task_name: 'echo', depends_on: ['one'] },
    ];
    await post('/workflows', { name: 'w', steps }, `00-${trace}-${PARENT}-01`);
    const [create, ...runs] = await spansOf(trace, 3);
    expect(runs.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
      ['run echo', create!.spanId],
      ['run echo', create!.spanId],
    ]);
  });

  it('leads through every attempt of a worker of the SDK, and back with its reports', async () => {
    const flaky = task({ name: 'flaky', queue: 'traced', retries: { max: 1, delay: '0s', jitter: 0 } });
    const handler = flaky.handle(async (_input, { job }) => {
      if (job.attempt === 1) throw new Error('it fails the first time');
      return {};
    });
    const { api, client } = tracingSdk('traced', [handler]);
    const trace = newTrace();
    await api.context.with(parseTrace(`00-${trace}-${PARENT}-01`), () => client.enqueue(flaky, {}));
    const found = await spansOf(trace, 6);
    expect(found.map((span) => pathTo(span).join(' > ')).sort()).toEqual([
      'POST /api/v1/jobs',
      'enqueue flaky',
      'enqueue flaky > run flaky',
      'enqueue flaky > run flaky',
      'enqueue flaky > run flaky > report completed',
      'enqueue flaky > run flaky > report failed',
    ]);
  });

  it('of a report that is refused says so, and one that is malformed spoils nothing', async () => {
    const trace = newTrace();
    const report = { job_id: '0198c0de-0000-7000-8000-000000000000', lease_token: 'stale', outcome: 'completed' };
    const reports = [
      { ...report, traceparent: `00-${trace}-${PARENT}-01` },
      { ...report, traceparent: 'nonsense' },
      { ...report, traceparent: null },
      7,
    ];
    const { status, body } = await server.worker.post('/api/v1/reports', { reports });
    expect([status, (body.reports as { code: string }[]).map(({ code }) => code)]).toEqual([
      200,
      ['not_found', 'not_found', 'not_found', 'invalid_request'],
    ]);
    const [span] = await spansOf(trace, 1);
    expect(span).toMatchObject({ name: 'report completed', parentSpanId: PARENT, status: { code: 2 } });
  });

  it('keeps its state: with the job, in the lease and in the spans', async () => {
    const trace = newTrace();
    const state = 'vendor=a"b\\c,other=1';
    const [traceparent, config] = [`00-${trace}-${PARENT}-01`, { queue: 'state' }];
    await post('/jobs', { task_name: 't', config, metadata: { mine: 1 } }, traceparent, state);
    await post('/jobs', { task_name: 't', config, metadata: { tracestate: 'mine' } }, traceparent, state);
    await post('/jobs', { task_name: 't', config }, traceparent, 'x'.repeat(513));
    const { body } = await server.worker.post('/api/v1/queues/state/lease', { max_jobs: 3 });
    const leased = (body.jobs as { job: { metadata: Record<string, unknown> } }[]).map(({ job }) => job.metadata);
    expect(leased.map(({ tracestate, mine }) => [tracestate, mine])).toEqual([
      [state, 1],
      ['mine', undefined],
      [undefined, undefined],
    ]);
    const found = await spansOf(trace, 3);
    expect(found.map(({ traceState }) => traceState)).toEqual([state, state, undefined]);
  });

  it('leads to the steps of a workflow that a worker of the SDK runs', async () => {
    const step = task({ name: 'step', queue: 'traced-steps' });
    const { api, client } = tracingSdk('traced-steps', [step.handle(async () => ({}))]);
    const two = workflow({ name: 'two' })
      .step('one', step, { payload: () => ({}) })
      .step('two', step, { after: ['one'], payload: () => ({}) });
    const trace = newTrace();
    await api.context.with(parseTrace(`00-${trace}-${PARENT}-01`), () => client.start(two, {}));
    const found = await spansOf(trace, 7);
    const path = 'enqueue step > run step > report completed';
    expect(found.map((span) => pathTo(span).join(' > ')).filter((each) => each === path)).toHaveLength(2);
  });

  it('that the caller has put into the metadata is kept', async () => {
    const own = `00-${newTrace()}-${PARENT}-01`;
    const body = { task_name: 't', config: { queue: 'nobody' }, metadata: { traceparent: own } };
    const { job_id: id } = await post('/jobs', body, `00-${newTrace()}-${PARENT}-01`);
    expect(await metadataOf(id!)).toEqual({ traceparent: own });
  });

  it('that nobody records is passed on, and makes no span', async () => {
    const trace = newTrace();
    const traceparent = `00-${trace}-${PARENT}-00`;
    const { job_id: id } = await post('/jobs', { task_name: 't', config: { queue: 'nobody' } }, traceparent);
    expect(await metadataOf(id!)).toEqual({ traceparent });
    const later = newTrace();
    await post('/jobs', { task_name: 't', config: { queue: 'nobody' } }, `00-${later}-${PARENT}-01`);
    await spansOf(later, 1);
    expect(spans.filter(({ traceId }) => traceId === trace)).toEqual([]);
  });

  it.each(['nonsense', `00-${'0'.repeat(32)}-${PARENT}-01`, `01-${'a'.repeat(32)}-${PARENT}-01`])(
    'has no effect if it is none: %s',
    async (traceparent) => {
      const { job_id: id } = await post('/jobs', { task_name: 't', config: { queue: 'nobody' } }, traceparent);
      expect(await metadataOf(id!)).toEqual({});
    },
  );
});
