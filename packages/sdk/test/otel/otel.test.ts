import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it } from 'vitest';
import { Millrace, task, type RunningJob } from '../../src/index.js';
import { otel, type OtelApi } from '../../src/otel/index.js';
import { FakeServer } from '../../src/testing/index.js';

interface Span {
  name: string;
  parent: string | undefined;
  id: string;
  ended: boolean;
  errors: string[];
}
interface Context {
  span?: string;
}

/** The few methods of the real thing that are used, with a trace that can be read. */
function api() {
  const spans: Span[] = [];
  const storage = new AsyncLocalStorage<Context>();
  const fake: OtelApi<Context> = {
    context: { active: () => storage.getStore() ?? {}, with: (context, run) => storage.run(context, run) },
    propagation: {
      inject: (context, carrier) => Object.assign(carrier, { traceparent: context.span, baggage: 'secret=1' }),
      extract: (_context, { traceparent }) => (traceparent === undefined ? {} : { span: traceparent }),
    },
    trace: {
      getTracer: () => ({
        startSpan: (name, _options, context) => {
          const span: Span = { name, parent: context.span, id: `span-${spans.length}`, ended: false, errors: [] };
          spans.push(span);
          return Object.assign(Object.create(span), {
            id: span.id,
            end: () => (span.ended = true),
            recordException: (error: Error) => span.errors.push(error.message),
            setStatus: () => undefined,
          });
        },
      }),
      setSpan: (context, span: Span) => ({ ...context, span: span.id }),
    },
  };
  return { fake, spans };
}

it('carries the trace of the creator to the handler that runs the job', async () => {
  const { fake, spans } = api();
  const hooks = otel(fake);
  const server = new FakeServer();
  const millrace = new Millrace({ ...server.options, hooks });
  const job = await fake.context.with({ span: 'request' }, () =>
    millrace.enqueue(task({ name: 'resize' }), {}, { metadata: { mine: 1 } }),
  );
  const { metadata } = await job.get();
  expect(metadata).toEqual({ mine: 1, traceparent: 'span-0' });
  const running = { id: job.id, task: 'resize', queue: 'tasks', attempt: 1, metadata } as unknown as RunningJob;
  expect(await hooks.wrapJob(running, async () => fake.context.active().span)).toBe('span-1');
  await expect(hooks.wrapJob(running, () => Promise.reject(new Error('boom')))).rejects.toThrow('boom');
  expect(spans).toEqual([
    { name: 'enqueue resize', parent: 'request', id: 'span-0', ended: true, errors: [] },
    { name: 'run resize', parent: 'span-0', id: 'span-1', ended: true, errors: [] },
    { name: 'run resize', parent: 'span-0', id: 'span-2', ended: true, errors: ['boom'] },
  ]);
});

it('names the span of a run in its report, and without a run the trace that the job came with', async () => {
  const { fake } = api();
  const hooks = otel(fake);
  const job = (id: string, metadata: object): RunningJob =>
    ({ id, task: 'resize', queue: 'tasks', attempt: 1, metadata }) as unknown as RunningJob;
  const run = job('1', { traceparent: 'creator' });
  await hooks.wrapJob(run, async () => ({}));
  expect(hooks.onReport(run)).toEqual({ traceparent: 'span-0' });
  expect(hooks.onReport(job('2', { traceparent: 'creator' }))).toEqual({ traceparent: 'creator' });
  expect(hooks.onReport(job('3', { mine: 1 }))).toEqual({});
});

it('sends the trace along with requests made inside a span, and nothing else of its context', () => {
  const { fake } = api();
  const headers: Record<string, string> = { accept: 'application/json' };
  fake.context.with({ span: 'request' }, () => otel(fake).onRequest({ method: 'GET', path: '/x', headers }));
  expect(headers).toEqual({ accept: 'application/json', traceparent: 'request' });
});
