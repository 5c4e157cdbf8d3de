import { isLongerThan, type QueryParameters } from '../../rules/index.js';
import { DEFAULT_MAX_BODY_BYTES, JSON_MAX_DEPTH } from '../../rules/limits.js';
import { countRoutes } from './counts.js';
import { durableRoutes } from './durable-routes.js';
import { endRoutes } from './ends.js';
import type { FakeRequest, Reply, Route } from './request.js';
import { jobRoutes } from './job-routes.js';
import { groupRoutes } from './letter-groups.js';
import { logRoutes } from './logs.js';
import { operationRoutes } from './operations.js';
import { Problem } from './problem.js';
import { queueRoutes } from './queue-routes.js';
import { endStepWaits } from './step-waits.js';
import type { FakeStore } from './store.js';
import { workerRoutes } from './worker-routes.js';
import { workflowRoutes } from './workflow-routes.js';

const PREFIX = '/api/v1';

interface Entry {
  readonly method: string;
  readonly pattern: RegExp;
  readonly route: Route;
}

/** Plain segments win over parameters: `/jobs/batch` is not a job. */
const TABLE: readonly Entry[] = [
  ...[...jobRoutes, ...workerRoutes, ...workflowRoutes, ...durableRoutes],
  ...[...logRoutes, ...endRoutes, ...queueRoutes, ...operationRoutes, ...groupRoutes, ...countRoutes],
]
  .map(([method, path, route]) => ({
    method,
    pattern: new RegExp(`^${path.replace(/:[a-z]+/g, '([^/]+)')}$`),
    route,
  }))
  .sort((a, b) => a.pattern.source.split('(').length - b.pattern.source.split('(').length);

/** A `fetch` that is answered by the store. Bodies go through JSON both ways, as they would over the network. */
export function fakeFetch(store: FakeStore): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    const text = await request.text();
    try {
      return toResponse(await answer(store, request, text));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { message, code, details, status } = error;
      const timestamp = store.clock.text();
      return toResponse({ status, body: { error: message, code, timestamp, ...(details.length > 0 && { details }) } });
    }
  };
}

async function answer(store: FakeStore, request: Request, text: string): Promise<Reply> {
  const url = new URL(request.url);
  if (!/^bearer \S+/i.test(request.headers.get('authorization') ?? '')) throw new Problem('unauthorized', 'no token');
  const path = url.pathname.slice(PREFIX.length);
  const known = url.pathname.startsWith(PREFIX) ? TABLE.filter(({ pattern }) => pattern.test(path)) : [];
  const found = known.find(({ method }) => method === request.method);
  if (found === undefined) {
    const code = known.length > 0 ? 'method_not_allowed' : 'not_found';
    throw new Problem(code, `FakeServer does not know ${request.method} ${url.pathname}; use devServer() for this`);
  }
  const exchange: FakeRequest = {
    store,
    method: request.method,
    params: (found.pattern.exec(path) ?? []).slice(1).map(decodeURIComponent),
    query: parametersOf(url.searchParams),
    body: text === '' ? undefined : parse(text),
    headers: request.headers,
    signal: request.signal,
  };
  const reply = await found.route(exchange);
  endStepWaits(store);
  return reply;
}

/** A parameter that is given twice is a list, as it is for the service. */
function parametersOf(search: URLSearchParams): QueryParameters {
  return Object.fromEntries(
    [...new Set(search.keys())].map((name) => {
      const values = search.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

function parse(text: string): unknown {
  if (isLongerThan(DEFAULT_MAX_BODY_BYTES, text))
    throw new Problem('payload_too_large', 'the request body is larger than this server accepts');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Problem('invalid_request', 'the request body is not valid JSON');
  }
  if (isDeeperThan(JSON_MAX_DEPTH, body))
    throw new Problem('invalid_request', `the request body is nested deeper than ${JSON_MAX_DEPTH} levels`);
  return body;
}

/** Level by level: recursion would run out of stack on what it is to refuse. */
function isDeeperThan(levels: number, value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    level = level.filter((each) => typeof each === 'object' && each !== null);
    if (level.length > 0 && depth === levels) return true;
    level = level.flatMap((each) => Object.values(each as object) as unknown[]);
  }
  return false;
}

function toResponse({ status, body, headers = {}, stream }: Reply): Response {
  if (stream !== undefined) return new Response(stream, { status, headers: { 'content-type': 'text/event-stream' } });
  if (body === undefined) return new Response(null, { status, headers });
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
}
