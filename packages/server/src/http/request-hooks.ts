import type { FastifyInstance, FastifyReply, FastifyRequest, onResponseHookHandler, RouteOptions } from 'fastify';
import { invalidRequest, misdirected } from '../domain/errors.js';
import type { HistogramSeries } from '../telemetry/histogram.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { HttpContext } from './context.js';
import { handleUnknownRoute } from './answers/errors.js';
import { setCommonHeaders } from './answers/reply.js';
import { discardBody } from './requests/body.js';
import { isDecodable, repeatedHeader } from './requests/headers.js';
import { KnownPaths } from './requests/known-paths.js';

/** What happens on every request, whatever the route: headers on the way in, a measurement on the way out. */
export function registerRequestHooks(
  app: FastifyInstance,
  { metrics, isShuttingDown }: HttpContext,
  checkHost: (header: string | undefined) => string | null = () => null,
): void {
  measureRoutes(app, metrics);
  const paths = new KnownPaths();
  paths.watch(app);

  app.addHook('onRequest', (request, reply, done) => {
    setCommonHeaders(request, reply);
    // Node would refuse this too, but its answer would have no body.
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      return done(invalidRequest('the Host header is missing'));
    }
    const refusal = checkHost(request.headers.host);
    if (refusal !== null) return done(misdirected(refusal));
    if (request.is404) request.knownPath = paths.find(request.url);
    const repeated = repeatedHeader(request.raw.rawHeaders);
    done(repeated ?? undefined);
  });

  // An unknown path has no use for a body. The credential has already been checked.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.is404) handleUnknownRoute(request, reply);
    else done();
  });

  // After the credential check: a caller that is not let in is told that and nothing else.
  app.addHook('preValidation', (request, _reply, done) => {
    done(isDecodable(request.url) ? undefined : invalidRequest('the query is not valid percent-encoded UTF-8'));
  });

  app.addHook('onSend', (request, reply, _payload, done) => {
    discardBody(request, reply);
    // Tells a load balancer not to send another request on a connection that is about to close.
    if (isShuttingDown()) reply.header('connection', 'close');
    done();
  });

  app.addHook('onResponse', (request, reply, done) => {
    // Nothing else closes a connection that was busy when shutdown began and then falls idle: its answer may have begun
    // before, without the `connection` header.
    if (isShuttingDown()) request.raw.socket.destroySoon();
    if (request.log.level === 'debug' || request.log.level === 'trace') logAnswer(request, reply);
    done();
  });
}

function logAnswer(request: FastifyRequest, reply: FastifyReply): void {
  const { id, method, url } = request;
  request.log.debug({ reqId: id, method, url, status: reply.statusCode, ms: reply.elapsedTime }, 'answered');
}

/**
 * Each route is measured under its pattern, by a hook that already knows its labels: only the status is looked up per
 * request. All unknown paths share one label.
 */
function measureRoutes(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    const method = [route.method].flat().join(',');
    const hooks = [route.onResponse ?? []].flat();
    route.onResponse = [...hooks, measurement(metrics, method, route.url)];
  });
  const measureUnknown = measurement(metrics, 'any', 'unknown');
  app.addHook('onResponse', function (request, reply, done) {
    if (request.is404) measureUnknown.call(this, request, reply, done);
    else done();
  });
}

function measurement(metrics: Metrics, method: string, route: string): onResponseHookHandler {
  const byStatus = new Map<number, HistogramSeries>();
  return (_request, reply, done) => {
    const status = reply.statusCode;
    let series = byStatus.get(status);
    if (series === undefined) byStatus.set(status, (series = metrics.http.series(method, route, String(status))));
    series.observe(reply.elapsedTime / 1000);
    done();
  };
}
