import type { FastifyInstance } from 'fastify';
import { guardRoutes } from '../access/admission.js';
import type { AuthHooks } from '../access/auth.js';
import type { HttpContext } from '../context.js';
import { handleUnknownRoute } from '../answers/errors.js';
import { warnOfUnknown } from '../requests/warnings.js';
import { cronRoutes } from './crons.js';
import { deadLetterRoutes } from './dead-letters.js';
import { eventRoutes } from './events.js';
import { jobRoutes } from './jobs.js';
import { probeRoutes, systemRoutes } from './system.js';
import { workerRoutes } from './worker.js';
import { workflowRoutes } from './workflows.js';

export const API_PREFIX = '/api/v1';

type Register = (app: FastifyInstance, context: HttpContext) => void;

const PUBLIC_ROUTES: readonly Register[] = [probeRoutes];
const TENANT_ROUTES: readonly Register[] = [
  systemRoutes,
  jobRoutes,
  eventRoutes,
  workflowRoutes,
  cronRoutes,
  deadLetterRoutes,
];
const WORKER_ROUTES: readonly Register[] = [workerRoutes];

/**
 * Tenant routes and worker routes live in scopes of their own, each behind the hook that knows the caller, and then the
 * door.
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
      // A path that does not exist still asks for a credential first: all of /api/v1 does. One that exists under other
      // methods asks for the one that those take.
      api.addHook('onRequest', (request, reply, next) => {
        if (request.is404) auth[request.knownPath?.access ?? 'anybody'](request, reply, next);
        else next();
      });
      api.setNotFoundHandler(handleUnknownRoute);
      warnOfUnknown(api);
      void api.register(scope(TENANT_ROUTES, auth.tenant));
      void api.register(scope(WORKER_ROUTES, auth.worker));
      done();
    },
    { prefix: API_PREFIX },
  );
}
