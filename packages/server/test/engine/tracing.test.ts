import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { until } from '../support/until.js';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
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

const PARENT = 'b7ad6b7169203331';
let traces = 0;
const newTrace = (): string => `4bf92f3577b34da6a3ce929d0e${String(++traces).padStart(6, '0')}`;

/** As a client inside a span of that trace. */
async function post(path: string, body: object, traceparent: string): Promise<Record<string, string>> {
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer key-of-tenant-a-5f1c', 'content-type': 'application/json', traceparent },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Record<string, string>;
}

const spansOf = (traceId: string, count: number): Promise<readonly Span[]> =>
  until(
    () => {
      const found = spans.filter((span) => span.traceId === traceId);
      return found.length >= count ? found : `${found.length} spans so far`;
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
