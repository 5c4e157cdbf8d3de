import type { FastifyInstance } from 'fastify';
import { guardRoutes } from '../access/admission.js';
import type { AuthHooks } from '../access/auth.js';
import type { HttpContext } from '../context.js';
import { handleUnknownRoute } from '../answers/errors.js';
import { warnOfUnknown } from '../requests/warnings.js';
import { adminRoutes } from './admin.js';
import { attemptRoutes } from './attempts.js';
import { checkpointReads, checkpointRoutes } from './checkpoints.js';
import { childrenRoutes } from './children.js';
import { cronRoutes } from './crons.js';
import { deadLetterRoutes } from './dead-letters.js';
import { endRoutes } from './ends.js';
import { eventRoutes } from './events.js';
import { jobRoutes } from './jobs.js';
import { adminLimitRoutes, limitRoutes } from './limits.js';
import { logRoutes } from './logs.js';
import { operationRoutes } from './operations.js';
import { overviewRoutes } from './overview.js';
import { queueRoutes } from './queues.js';
import { signalRoutes } from './signals.js';
import { probeRoutes, systemRoutes } from './system.js';
import { waitRoutes } from './waits.js';
import { whoAmIRoutes } from './whoami.js';
import { workerBatchRoutes } from './worker-batches.js';
import { workerRoutes } from './worker.js';
import { workflowRoutes } from './workflows.js';

export const API_PREFIX = '/api/v1';

type Register = (app: FastifyInstance, context: HttpContext) => void;

const PUBLIC_ROUTES: readonly Register[] = [probeRoutes];
const TENANT_ROUTES: readonly Register[] = [
  systemRoutes,
  queueRoutes,
  limitRoutes,
  jobRoutes,
  waitRoutes,
  attemptRoutes,
  logRoutes,
  endRoutes,
  eventRoutes,
  workflowRoutes,
  cronRoutes,
  deadLetterRoutes,
  operationRoutes,
  overviewRoutes,
  signalRoutes,
];
const WORKER_ROUTES: readonly Register[] = [workerRoutes, workerBatchRoutes, checkpointRoutes, childrenRoutes];
const ADMIN_ROUTES: readonly Register[] = [adminRoutes, adminLimitRoutes];
const ANYBODYS_ROUTES: readonly Register[] = [whoAmIRoutes, checkpointReads];

/**
 * The routes of tenants, workers and operators are in separate scopes, each behind the hook that identifies the caller,
 * and then behind admission.
 */
export function registerRoutes(app: FastifyInstance, context: HttpContext, auth: AuthHooks): void {
  const scope =
    (routes: readonly Register[], hook?: AuthHooks['tenant']) =>
    (inner: FastifyInstance, _options: object, done: () => void): void => {
      if (hook !== undefined) {
        inner.addHook('onRequest', hook);
        guardRoutes(inner, context.admission, context.metrics);
      }
      for (const register of routes) register(inner, context);
      done();
    };
  void app.register(scope(PUBLIC_ROUTES));
  void app.register(
    (api, _options, done) => {
      // Even an unknown path needs a credential first, like everything under /api/v1. One that exists under other
      // methods needs the credential that those take.
      api.addHook('onRequest', (request, reply, next) => {
        if (request.is404) auth[request.knownPath?.access ?? 'anybody'](request, reply, next);
        else next();
      });
      api.setNotFoundHandler(handleUnknownRoute);
      warnOfUnknown(api);
      void api.register(scope(TENANT_ROUTES, auth.tenant));
      void api.register(scope(WORKER_ROUTES, auth.worker));
      if (context.hasAdmin) void api.register(scope(ADMIN_ROUTES, auth.admin));
      void api.register(scope(ANYBODYS_ROUTES, auth.anybody));
      done();
    },
    { prefix: API_PREFIX },
  );
}
