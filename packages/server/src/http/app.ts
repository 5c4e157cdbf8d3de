import cors from '@fastify/cors';
import fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { Logger } from 'pino';
import type { Engine } from '../engine/api.js';
import type { AuthFailure, Metrics } from '../telemetry/metrics.js';
import type { Tracer } from '../telemetry/tracing.js';
import { Admission } from './access/admission.js';
import { AnswerRoom } from './access/answer-room.js';
import { authHooks } from './access/auth.js';
import { registerBodyParsers, registerContinue } from './requests/body.js';
import { LoopTurns } from './turns.js';
import { guardConnections } from './access/connections.js';
import type { HttpContext } from './context.js';
import { Credentials, type AuthSettings } from './access/credentials.js';
import { noteRead } from './access/operators.js';
import {
  handleClientError,
  handleError,
  handleExpectation,
  handleFrameworkError,
  handleUnknownRoute,
} from './answers/errors.js';
import { OpenCalls } from './answers/open-calls.js';
import { registerUnreadAnswers, UNREAD_MS } from './answers/unread.js';
import { registerDocs, registerOpenApi } from './openapi.js';
import { registerRequestHooks } from './request-hooks.js';
import { requestIds } from './requests/request-id.js';
import { API_PREFIX, registerRoutes } from './routes/index.js';
import './types.js';
import { registerUi } from './ui/index.js';
import { traceRequests } from './requests/trace.js';
import { validatorOptions } from './requests/validation.js';

export interface AppDeps {
  readonly engine: Engine;
  readonly auth: AuthSettings;
  /** Given a function, calls it whenever the credentials change. */
  readonly watchCredentials?: (apply: (settings: Omit<AuthSettings, 'dev'>) => void) => void;
  /** The queue of jobs that do not name one. */
  readonly defaultQueue: string;
  /** Null: every origin. */
  readonly corsOrigins: readonly string[] | null;
  /** Says why a request with this `Host` header is refused. Absent: none is. */
  readonly checkHost?: (header: string | undefined) => string | null;
  readonly maxBodyBytes: number;
  /** Bounds each payload, result, metadata and context. */
  readonly maxPayloadBytes: number;
  /** How much new work may be in progress, in requests (see admission.ts). */
  readonly maxInFlight: number;
  /** Further connections are closed as they arrive. */
  readonly maxConnections: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | null;
  readonly version: string;
  /** How long finished jobs are kept; null or absent: for ever. */
  readonly retentionHours?: number | null;
  /** Where traces are shown, with `{trace_id}` for the id; null or absent: nowhere that is known. */
  readonly traceUrl?: string | null;
  /** How long a client may take nothing of its answer before it is cut off. */
  readonly unreadMs?: number;
  /** Once true: /ready fails, leases come back empty, and connections close after their answer. */
  readonly isShuttingDown: () => boolean;
}

/** How long a client may take to send a whole request; waiting for the answer does not count. */
const REQUEST_TIMEOUT_MS = 300_000;

/** Longer than any path that Node accepts, so an absurdly long id is simply unknown, not a special case. */
const MAX_PARAM_LENGTH = 65_536;

/**
 * The HTTP side of the service. Closing it first ends long polls and event streams, then waits for the other requests.
 */
export function createApp(deps: AppDeps): FastifyInstance {
  const logger: FastifyBaseLogger = withoutAddresses(deps.logger);
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // A child logger per request would cost more than many requests do; log lines name their request themselves.
    childLoggerFactory: () => deps.logger,
    genReqId: requestIds(),
    bodyLimit: deps.maxBodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    http: { requireHostHeader: false },
    return503OnClosing: false,
    ajv: validatorOptions,
    frameworkErrors: (error, request, reply) => refuseUnroutable(error, request, reply),
    clientErrorHandler: handleClientError,
  });
  const countFailure = (kind: AuthFailure): void => deps.metrics.authFailures.inc({ kind });
  const credentials = new Credentials(deps.auth);
  deps.watchCredentials?.((settings) => credentials.replace(settings));
  const auth = authHooks(credentials, countFailure, (request, reader) => noteRead(request, reader, deps.engine.admin));
  /** Even a path that cannot be decoded needs a credential first, like everything under /api/v1. */
  const refuseUnroutable = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    if (!request.url.startsWith(API_PREFIX)) return handleFrameworkError(error, request, reply);
    auth.anybody(request, reply, (refusal) => handleFrameworkError(refusal ?? error, request, reply));
  };
  let closing = false;
  const isShuttingDown = (): boolean => closing || deps.isShuttingDown();
  const admission = new Admission(deps.maxInFlight);
  deps.metrics.watchInFlight(() => admission.inFlight);
  deps.metrics.watchBodies(() => admission.bodyBytes);
  const answers = new AnswerRoom();
  deps.metrics.watchUnread(() => answers.heldBytes);
  const context: HttpContext = {
    ...deps,
    dev: deps.auth.dev,
    hasAdmin: deps.auth.dev || deps.auth.adminTokens.size > 0,
    retentionHours: deps.retentionHours ?? null,
    traceUrl: deps.traceUrl ?? null,
    tracer: deps.tracer ?? null,
    unreadMs: deps.unreadMs ?? UNREAD_MS,
    isShuttingDown,
    openCalls: new OpenCalls(),
    turns: new LoopTurns(),
    sending: new LoopTurns(),
    admission,
    answers,
  };
  const gate = guardConnections(app.server);
  app.addHook('preClose', async () => {
    closing = true;
    context.openCalls.endAll();
    gate.closeUnused();
    // The listener closes right after this.
    await gate.quiet();
  });
  app.decorateRequest('tenant', '').decorateRequest('principal', null).decorateRequest('reader', null);
  app.decorateRequest('rawBody', '').decorateRequest('admitted', null);
  app.decorateRequest('span', null);
  app.decorateRequest('warnings', null).decorateRequest('knownPath', null);
  app.server.on('checkExpectation', handleExpectation);
  app.server.maxConnections = deps.maxConnections;
  // Among several processes newer versions of Node would pass it on to the next, which may be as full.
  Object.assign(app.server, { dropMaxConnection: true });
  app.server.on('drop', () => deps.metrics.connectionsDropped.inc());
  app.setErrorHandler(handleError);
  app.setNotFoundHandler(handleUnknownRoute);
  registerBodyParsers(app, { ...deps, turns: context.turns });
  registerRequestHooks(app, context, deps.checkHost);
  if (deps.tracer) traceRequests(app, deps.tracer);
  registerContinue(app);
  registerUnreadAnswers(app, context);
  registerCors(app, deps.corsOrigins);
  registerOpenApi(app);
  registerDocs(app);
  registerUi(app, { dev: deps.auth.dev });
  registerRoutes(app, context, auth);
  return app;
}

const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'Millrace-Tenant',
  'Prefer',
  'Traceparent',
  'Tracestate',
  'X-Request-Id',
];
const EXPOSED_HEADERS = [
  'ETag',
  'Idempotency-Mismatch',
  'Idempotency-Replayed',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'X-Request-Id',
];
/** Fastify logs one line for each address that it listens on. Where the service listens is said once, elsewhere. */
const withoutAddresses = (logger: Logger): Logger =>
  logger.child({}, { level: logger.isLevelEnabled('info') ? 'warn' : logger.level });

function registerCors(app: FastifyInstance, origins: readonly string[] | null): void {
  void app.register(cors, {
    origin: origins === null ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    // Whoever may come from anywhere may bring any header: what the browser asks for is what it is allowed.
    ...(origins === null ? {} : { allowedHeaders: ALLOWED_HEADERS }),
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: 86_400,
    strictPreflight: false,
  });
}
