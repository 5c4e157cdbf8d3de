import { JSON_MAX_DEPTH } from '@millrace/contract';
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidRequest, MillraceError } from '../../domain/errors.js';
import { readJson, readJsonInSteps, type ReadJson } from '../../domain/json-outline.js';
import type { Steps } from '../../domain/steps.js';
import type { Metrics } from '../../telemetry/metrics.js';
import '../types.js';
import { bodyLimit, NOTHING, partOf, type BodyLimits } from './body-parts.js';
import { readBody, wasCutOff } from './body-reader.js';
import { LARGE, type LoopTurns } from '../turns.js';

/**
 * Request bodies. The text is kept alongside the parsed object, because what belongs to the caller is stored as it was
 * sent (see raw-json.ts). Of what belongs to the caller, the parsed object may hold no more than that it is an object:
 * routes look into the text.
 */

/** How much of an unwanted body is still read, to be thrown away. */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;

const BYTE_ORDER_MARK = 0xfeff;

type Done = (error: Error | null, body?: unknown) => void;
type Parse = (request: FastifyRequest, bytes: Buffer) => unknown;

interface BodySettings extends BodyLimits {
  readonly metrics: Metrics;
  readonly turns: LoopTurns;
}

/** For every route that is registered afterwards. */
export function registerBodyParsers(app: FastifyInstance, settings: BodySettings): void {
  app.addHook('onRoute', (route) => {
    const takes = partOf(route);
    route.config = { ...route.config, takes };
    route.bodyLimit ??= bodyLimit(takes, settings);
  });
  app.removeAllContentTypeParsers();
  const reading =
    (parse: Parse, inSteps: (request: FastifyRequest, bytes: Buffer) => Steps<unknown>) =>
    (request: FastifyRequest, body: IncomingMessage, done: Done): void =>
      readBody(request, body, settings.metrics, (error, bytes) => {
        if (bytes === null) return done(error);
        if (bytes.length >= LARGE)
          return void settings.turns.run(inSteps(request, bytes)).then((read) => done(null, read), done);
        let read: unknown;
        try {
          read = parse(request, bytes);
        } catch (refusal) {
          return done(refusal as Error);
        }
        done(null, read);
      });
  app.addContentTypeParser('application/json', reading(parseJsonBody, parseInSteps));
  app.addContentTypeParser('*', reading(refuseOtherTypes, refuseInSteps));
}

/**
 * An empty body counts as absent: routes that take none, or need none, accept it, and the others refuse it by schema.
 * JSON.parse turns keys such as `__proto__` into own properties, and nothing here merges objects, so no key that a
 * caller sends can reach a prototype.
 *
 * @throws MillraceError if it is no JSON object
 */
function parseJsonBody(request: FastifyRequest, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const text = textOf(request, bytes);
  return bodyOf(request, text, readJson(text, partsOf(request)));
}

/** The same for a large one. */
function* parseInSteps(request: FastifyRequest, bytes: Buffer): Steps<unknown> {
  const text = textOf(request, bytes);
  yield;
  return bodyOf(request, text, yield* readJsonInSteps(text, partsOf(request)));
}

const partsOf = (request: FastifyRequest) => () => request.routeOptions.config.takes ?? NOTHING;

function bodyOf(request: FastifyRequest, text: string, read: ReadJson): unknown {
  if (read.kind !== 'read') throw invalidRequest(PROBLEMS[read.kind]);
  const body = read.value;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidRequest('the request body must be a JSON object');
  }
  request.rawBody = text;
  return body;
}

const PROBLEMS = {
  invalid: 'the request body is not valid JSON',
  'too deep': `the request body is nested deeper than ${JSON_MAX_DEPTH} levels`,
  'too many containers': 'the request body has more objects and lists than this request can use',
} as const;

/** `curl -d ''` labels an empty body as a form; an empty body has no type worth refusing. */
function refuseOtherTypes(_request: FastifyRequest, bytes: Buffer): undefined {
  if (bytes.length === 0) return undefined;
  throw new MillraceError('unsupported_media_type', 'the request body must be application/json');
}

function* refuseInSteps(request: FastifyRequest, bytes: Buffer): Steps<undefined> {
  return refuseOtherTypes(request, bytes);
}

const unsupportedEncoding = (): MillraceError =>
  new MillraceError('unsupported_media_type', 'the request body must not be compressed');

/** RFC 8259 lets a reader ignore a byte order mark, and some tools always write one. */
function textOf(request: FastifyRequest, bytes: Buffer): string {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw unsupportedEncoding();
  if (!isUtf8(bytes)) throw invalidRequest('the request body is not valid UTF-8');
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

/**
 * For an answer that is sent before the body has arrived: a refusal, or the answer of a route that takes no body.
 * Hanging up on a client that is still sending resets the connection, and the answer is lost. So the rest of the body,
 * up to some megabytes, is read and thrown away, and the connection stays open; if there is more, or may be, it is
 * closed. So it is after a body that there was no room for: a client that is still sending takes up time that is
 * needed elsewhere.
 */
export function discardBody({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete || !hasBody(raw)) return;
  if (isAwaited(raw) || wasCutOff(raw) || declaredBytes(raw) > MAX_DISCARDED_BYTES) {
    reply.header('connection', 'close');
    return;
  }
  reply.removeHeader('connection');
  let discarded = 0;
  raw.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) raw.destroy();
  });
}

const declaredBytes = ({ headers }: IncomingMessage): number => Number(headers['content-length'] ?? 0);

const hasBody = (raw: IncomingMessage): boolean =>
  raw.headers['transfer-encoding'] !== undefined || declaredBytes(raw) > 0;

/** Requests whose client waits to be asked for the body. */
const awaited = new WeakSet<IncomingMessage>();

const isAwaited = (raw: IncomingMessage): boolean => awaited.has(raw);

/**
 * `Expect: 100-continue`: the body is asked for when it is about to be read, and not before the credential and the load
 * have been checked. By default, Node would ask at once.
 */
export function registerContinue(app: FastifyInstance): void {
  app.server.on('checkContinue', (request, response) => {
    awaited.add(request);
    app.server.emit('request', request, response);
  });
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const { raw, method } = request;
    const isRead = method !== 'GET' && method !== 'HEAD';
    if (isRead && isAwaited(raw) && declaredBytes(raw) <= request.routeOptions.bodyLimit) {
      awaited.delete(raw);
      reply.raw.writeContinue();
    }
    done();
  });
}
