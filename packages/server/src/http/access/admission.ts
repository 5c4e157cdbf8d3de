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
 * Admission: which requests are accepted when more arrive than the service can handle. A request waits for the work
 * ahead of it divided by the rate at which work is done, so a limit on what is in flight bounds both time and memory,
 * however slow the database is. A request that does not fit is refused before its body is read.
 *
 * New work is shed first. Requests that end work in progress (heartbeats, reports, cancellations) have a separate
 * limit, several times as large: shedding them would make the service do the same job twice. Probes are always
 * accepted.
 *
 * Invariants: `inFlight` is the sum of the units of accepted requests whose handlers have not ended; a request returns
 * its units exactly once, even if its client disconnects, but not before its work is done.
 */

/** A request counts as one unit, plus one for each of these in its body. */
const UNIT_BYTES = 16 * 1024;
/** No request may need more than this fraction of the limit, or a busy server would never accept it. */
const LARGEST_PART = 4;
const VITAL_ROOM = 4;

/**
 * Refusing is cheap, but ten thousand callers per second who retry at once would leave no time for the rest. So AT_ONCE
 * of them are refused immediately in each window. The others are refused a moment later, with their bodies still
 * unread, and retry less often because of it.
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

  /** Refuses, immediately or after a delay. */
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
 * Applies admission to every route of the scope. Call it after the hook that identifies the caller, and before the
 * routes.
 */
export function guardRoutes(app: FastifyInstance, admission: Admission, metrics: Metrics): void {
  app.addHook('onRoute', (route) => guard(route, admission, metrics));
}

function guard(route: RouteOptions, admission: Admission, metrics: Metrics): void {
  const load = route.config?.load ?? 'new';
  const waits = route.config?.waits;
  const { handler } = route;

  const enter = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const asked = waits?.(request) === true ? 'waiting' : load;
    const units = admission.admit(asked, Number(request.headers['content-length'] ?? 0));
    if (units === null) {
      metrics.requestsShed.inc({ load });
      return admission.refuse(() => done(OVERLOADED));
    }
    request.admitted = units;
    // The client may disconnect before the handler begins.
    if (request.raw.socket.destroyed) release(request);
    else reply.raw.once('close', () => release(request));
    done();
  };
  const release = (request: FastifyRequest): void => {
    admission.release(load, request.admitted);
    request.admitted = 0;
  };

  /** For requests that are answered without a handler, such as those with a refused body. */
  const leave: onSendHookHandler = (request, _reply, _payload, done): void => {
    release(request);
    done();
  };

  route.onRequest = [...[route.onRequest ?? []].flat(), enter];
  route.onSend = [...[route.onSend ?? []].flat(), leave];
  // Once begun, the work continues even if its client disconnects, and holds its units until it is done.
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
