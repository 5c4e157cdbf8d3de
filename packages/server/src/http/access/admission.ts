import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  onSendHookHandler,
  RouteOptions,
} from 'fastify';
import { unavailable } from '../../domain/errors.js';
import type { Metrics } from '../../telemetry/metrics.js';
import type { Load } from '../types.js';

/**
 * Who is let in when more comes than the service can take. The time a request waits is the work ahead of it divided by
 * the rate at which work is done, so a bound on what is under way bounds both the time and the memory, however slow the
 * database happens to be. What does not fit is refused before its body is read.
 *
 * New work gives way first. What ends work that is under way (heartbeats, reports, cancellations) has room of its own,
 * several times as much: shedding it would make the service do the same job twice. Probes are not asked.
 *
 * Invariants: `inFlight` is the sum of the units of requests that were let in and whose handler has not ended; a
 * request gives its units back exactly once, also when its client leaves, but not before its work is done.
 */

/** A request counts as one, and as one more for each of these in its body. */
const UNIT_BYTES = 16 * 1024;
/** No request may need more than this part of the room, or it would wait for a moment of silence that never comes. */
const LARGEST_PART = 4;
const VITAL_ROOM = 4;

/**
 * Refusing is cheap, but ten thousand a second of callers who ask again at once would leave no time for those who are
 * served. So that many are refused at once in a window; the others hear it a moment later, with their bodies still on
 * the wire, and ask less often for it.
 */
const WINDOW_MS = 100;
const AT_ONCE = 50;
const LATER_MS = 1_000;

const OVERLOADED = unavailable('the server is overloaded; try again shortly');

export class Admission {
  readonly #inFlight = { new: 0, vital: 0 };
  #windowEndsAt = 0;
  #refusedInWindow = 0;
  readonly #room: { readonly new: number; readonly vital: number };

  constructor(maxInFlight: number) {
    this.#room = { new: maxInFlight, vital: VITAL_ROOM * maxInFlight };
  }

  get inFlight(): { readonly new: number; readonly vital: number } {
    return this.#inFlight;
  }

  /** The units it takes up from now on, or null if there is no room. A lone request always fits. */
  admit(load: Load, bodyBytes: number): number | null {
    const kind = load === 'vital' ? 'vital' : 'new';
    const room = this.#room[kind];
    const units = Math.min(1 + Math.floor(bodyBytes / UNIT_BYTES), Math.max(1, Math.floor(room / LARGEST_PART)));
    if (this.#inFlight[kind] + units > room) return null;
    if (load === 'waiting') return 0;
    this.#inFlight[kind] += units;
    return units;
  }

  release(load: Load, units: number): void {
    if (load !== 'waiting') this.#inFlight[load] -= units;
  }

  /** Says no, sooner or later. */
  refuse(answer: () => void): void {
    const now = performance.now();
    if (now >= this.#windowEndsAt) {
      this.#windowEndsAt = now + WINDOW_MS;
      this.#refusedInWindow = 0;
    }
    this.#refusedInWindow += 1;
    if (this.#refusedInWindow <= AT_ONCE) answer();
    else setTimeout(answer, LATER_MS);
  }
}

/**
 * Puts every route of the scope behind the door. To be called after the hook that knows the caller, and before the
 * routes.
 */
export function guardRoutes(app: FastifyInstance, admission: Admission, metrics: Metrics): void {
  app.addHook('onRoute', (route) => guard(route, admission, metrics));
}

function guard(route: RouteOptions, admission: Admission, metrics: Metrics): void {
  const load = route.config?.load ?? 'new';
  const { handler } = route;

  const enter = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const units = admission.admit(load, Number(request.headers['content-length'] ?? 0));
    if (units === null) {
      metrics.requestsShed.inc({ load });
      return admission.refuse(() => done(OVERLOADED));
    }
    request.admitted = units;
    // Whoever leaves before the handler has begun.
    if (request.raw.socket.destroyed) release(request);
    else reply.raw.once('close', () => release(request));
    done();
  };
  const release = (request: FastifyRequest): void => {
    admission.release(load, request.admitted);
    request.admitted = 0;
  };

  /** Whoever is answered without a handler: a body that is refused, say. */
  const leave: onSendHookHandler = (request, _reply, _payload, done): void => {
    release(request);
    done();
  };

  route.onRequest = [...[route.onRequest ?? []].flat(), enter];
  route.onSend = [...[route.onSend ?? []].flat(), leave];
  // Once begun, the work goes on without its client, and holds its units until it is done.
  route.handler = async function (request, reply) {
    const units = request.admitted;
    request.admitted = 0;
    try {
      return await handler.call(this, request, reply);
    } finally {
      admission.release(load, units);
    }
  };
}
