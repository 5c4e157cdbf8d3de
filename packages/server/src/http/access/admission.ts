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
import '../types.js';
import type { Admitted, Load } from './load.js';

/**
 * Admission: which requests are accepted when more arrive than the service can handle. A request waits for the work
 * ahead of it divided by the rate at which work is done, so a limit on what is in flight bounds both time and memory,
 * however slow the database is. A request that does not fit is refused before its body is read. One that does not say
 * how long its body is pays for it as it arrives, and is refused in the middle of it when nothing is left.
 *
 * New work is shed first. Requests that end work in progress (heartbeats, reports, cancellations) have a separate
 * limit, several times as large: shedding them would make the service do the same job twice. Probes are always
 * accepted. A request that waits for something to happen counts until it begins to wait.
 *
 * The bodies that all requests hold together are bounded as well, in bytes, whatever `maxInFlight` is.
 *
 * Invariants: `inFlight` is the sum of the units of accepted requests whose handlers have not ended, `bodyBytes` that
 * of their bodies; a request returns both exactly once, even if its client disconnects, but not before its work is
 * done.
 */

/** A request counts as one unit, plus one for each of these in its body. */
const UNIT_BYTES = 16 * 1024;
/** No request may need more than this fraction of the limit, or a busy server would never accept it. */
const LARGEST_PART = 4;
const VITAL_ROOM = 4;
/** What the bodies of one owner (a tenant; all workers together) may take of the units: others still get in. */
const OWNERS_PART = 3 / 4;
/** What all bodies together may hold; new work may take up half of it. */
const BODY_BYTES = { new: 64 * 1024 * 1024, vital: 128 * 1024 * 1024 };

/**
 * Refusing is cheap, but ten thousand callers per second who retry at once would leave no time for the rest. So AT_ONCE
 * of them are refused immediately in each window. The others are refused a moment later, with their bodies still
 * unread, and retry less often because of it.
 */
const WINDOW_MS = 100;
const AT_ONCE = 50;
const LATER_MS = 1_000;

const OVERLOADED = unavailable('the server is overloaded; try again shortly');

type Room = 'new' | 'vital';

interface Share {
  readonly units: number;
  readonly bodyBytes: number;
}

class AdmittedRequest implements Admitted, Share {
  #units = 0;
  #bodyBytes = 0;
  #isReleased = false;

  constructor(
    private readonly admission: Admission,
    private readonly room: Room,
    private readonly owner: string,
  ) {}

  hold(bodyBytes: number): boolean {
    if (this.#isReleased) return false;
    const units = Math.max(this.#units, this.admission.unitsFor(this.room, bodyBytes));
    const after = { units, bodyBytes: Math.max(this.#bodyBytes, bodyBytes) };
    if (!this.admission.change(this.room, this.owner, this, after)) return false;
    this.#units = after.units;
    this.#bodyBytes = after.bodyBytes;
    return true;
  }

  release(): void {
    this.#isReleased = true;
    this.admission.change(this.room, this.owner, this, NOTHING);
    this.#units = this.#bodyBytes = 0;
  }

  get units(): number {
    return this.#units;
  }

  get bodyBytes(): number {
    return this.#bodyBytes;
  }
}

const NOTHING: Share = { units: 0, bodyBytes: 0 };

export class Admission {
  readonly #inFlight = { new: 0, vital: 0 };
  /** Units for bodies, by whose they are. */
  readonly #bodyUnits = { new: new Map<string, number>(), vital: new Map<string, number>() };
  #bodyBytes = 0;
  #windowEndsAt = 0;
  #refusedInWindow = 0;
  readonly #room: { readonly new: number; readonly vital: number };

  constructor(maxInFlight: number) {
    this.#room = { new: maxInFlight, vital: VITAL_ROOM * maxInFlight };
  }

  get inFlight(): { readonly new: number; readonly vital: number } {
    return this.#inFlight;
  }

  /** What the bodies of all accepted requests hold. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** Null: there is no room. A lone request always fits. */
  admit(load: Load, owner: string, bodyBytes: number): Admitted | null {
    const admitted = new AdmittedRequest(this, load === 'vital' ? 'vital' : 'new', owner);
    return admitted.hold(bodyBytes) ? admitted : null;
  }

  unitsFor(room: Room, bodyBytes: number): number {
    const most = Math.max(1, Math.floor(this.#room[room] / LARGEST_PART));
    return Math.min(1 + Math.floor(bodyBytes / UNIT_BYTES), most);
  }

  /** False: there is no room for it, and nothing has changed. Giving back always succeeds. */
  change(room: Room, owner: string, before: Share, after: Share): boolean {
    const units = after.units - before.units;
    const bytes = after.bodyBytes - before.bodyBytes;
    if (units > 0 && this.#inFlight[room] + units > this.#room[room]) return false;
    const bodyUnits = Math.max(0, after.units - 1) - Math.max(0, before.units - 1);
    if (bytes > 0 && after.bodyBytes >= UNIT_BYTES) {
      const ofOwner = this.#bodyUnits[room].get(owner) ?? 0;
      if (bodyUnits > 0 && ofOwner + bodyUnits > OWNERS_PART * this.#room[room]) return false;
      if (this.#bodyBytes > before.bodyBytes && this.#bodyBytes + bytes > BODY_BYTES[room]) return false;
    }
    this.#inFlight[room] += units;
    this.#bodyBytes += bytes;
    if (bodyUnits !== 0) this.#addBodyUnits(this.#bodyUnits[room], owner, bodyUnits);
    return true;
  }

  #addBodyUnits(byOwner: Map<string, number>, owner: string, units: number): void {
    const ofOwner = (byOwner.get(owner) ?? 0) + units;
    if (ofOwner > 0) byOwner.set(owner, ofOwner);
    else byOwner.delete(owner);
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
    const admitted = admission.admit(load, request.tenant, Number(request.headers['content-length'] ?? 0));
    if (admitted === null) {
      metrics.requestsShed.inc({ load });
      return admission.refuse(() => done(OVERLOADED));
    }
    request.admitted = admitted;
    // The client may disconnect before the handler begins.
    if (request.raw.socket.destroyed) release(request);
    else reply.raw.once('close', () => release(request));
    done();
  };
  const release = (request: FastifyRequest): void => request.admitted?.release();

  /** For requests that are answered without a handler, such as those with a refused body. */
  const leave: onSendHookHandler = (request, _reply, _payload, done): void => {
    release(request);
    done();
  };

  route.onRequest = [...[route.onRequest ?? []].flat(), enter];
  route.onSend = [...[route.onSend ?? []].flat(), leave];
  // Once begun, the work continues even if its client disconnects, and holds its units until it is done.
  route.handler = async function (request, reply) {
    const { admitted } = request;
    request.admitted = null;
    try {
      const work: unknown = handler.call(this, request, reply);
      if (load === 'waiting' || waits?.(request) === true) beginToWait(request, admitted);
      return await work;
    } finally {
      admitted?.release();
    }
  };
}

/** It takes up nothing from now on: what its handler needs of the body, it has read before it began to wait. */
function beginToWait(request: FastifyRequest, admitted: Admitted | null): void {
  request.body = undefined;
  request.rawBody = '';
  admitted?.release();
}

/** The refusal of a request whose body turns out to be more than there is room for. */
export function refuseRest({ routeOptions }: FastifyRequest, metrics: Metrics): Error {
  metrics.requestsShed.inc({ load: routeOptions.config.load ?? 'new' });
  return OVERLOADED;
}
