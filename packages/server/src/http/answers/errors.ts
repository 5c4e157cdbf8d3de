import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorBody, ErrorCode, ErrorDetail } from '@millrace/contract';
import { STATUSES } from '@millrace/sdk/rules';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { MillraceError } from '../../domain/errors.js';
import { discardBody } from '../requests/body.js';
import { JSON_TYPE, SAFETY_HEADERS, sendJson, setCommonHeaders } from './reply.js';
import { validationDetails } from '../requests/validation.js';

/** The only place where error codes become HTTP statuses; the compiler sees that none is missing. */
const STATUS: Record<ErrorCode, number> = STATUSES;

/** How many seconds a client is asked to wait when the database is out of reach; recovery takes about that long. */
const RETRY_AFTER_SECS = '2';

/** More details than this do not help anyone to correct a request. */
const MAX_DETAILS = 20;

interface Problem {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: readonly ErrorDetail[] | undefined;
}

export function errorBody(code: ErrorCode, message: string, details?: readonly ErrorDetail[]): string {
  const body: ErrorBody = { error: message, code, timestamp: new Date().toISOString() };
  if (details !== undefined && details.length > 0) body.details = details.slice(0, MAX_DETAILS);
  return JSON.stringify(body);
}

/** Answers a request whose handling threw an error. */
export function handleError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const problem = problemOf(error);
  if (problem.status >= 500) {
    const level = problem.code === 'unavailable' ? 'debug' : 'error';
    request.log[level]({ err: error, reqId: request.id, method: request.method, route: request.routeOptions.url });
  }
  if (problem.code === 'unauthorized') reply.header('www-authenticate', 'Bearer');
  if (problem.code === 'unavailable') reply.header('retry-after', RETRY_AFTER_SECS);
  sendJson(reply, problem.status, errorBody(problem.code, problem.message, problem.details));
}

/** No route takes the request: there is no such path, or not under this method. */
export function handleUnknownRoute(request: FastifyRequest, reply: FastifyReply): void {
  if (request.knownPath !== null) {
    const allowed = request.knownPath.methods.join(', ');
    reply.header('allow', allowed);
    const message = `${request.method} is not allowed here; allowed: ${allowed}`;
    sendJson(reply, STATUS.method_not_allowed, errorBody('method_not_allowed', message));
    return;
  }
  const path = request.url.split('?', 1)[0] ?? '';
  sendJson(reply, 404, errorBody('not_found', `no such route: ${request.method} ${path.slice(0, 200)}`));
}

function problemOf(error: FastifyError | Error): Problem {
  if (error instanceof MillraceError) {
    return { status: STATUS[error.code], code: error.code, message: error.message, details: error.details };
  }
  if ('validation' in error && error.validation !== undefined) return validationProblem(error);
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (status === undefined || status < 400 || status >= 500) {
    return { status: 500, code: 'internal', message: 'something went wrong on our side' };
  }
  return { status, code: codeOfStatus(status), message: frameworkMessage(error) };
}

function validationProblem(error: FastifyError): Problem {
  const details = validationDetails(error.validation ?? []);
  const first = details[0];
  const message = first === undefined ? 'the request is not valid' : `${first.path} ${first.message}`;
  return { status: 400, code: 'invalid_request', message, details };
}

function codeOfStatus(status: number): ErrorCode {
  switch (status) {
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return 'not_found';
    case 409:
      return 'conflict';
    case 413:
      return 'payload_too_large';
    case 415:
      return 'unsupported_media_type';
    default:
      return 'invalid_request';
  }
}

/** The framework's own refusals, in words that suit an API. */
function frameworkMessage(error: FastifyError | Error): string {
  switch ('code' in error ? error.code : '') {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return 'the request body is larger than this server accepts';
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return 'the request body must be application/json';
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return 'the request body does not have the length that Content-Length declares';
    case 'FST_ERR_BAD_URL':
      return 'the path is not valid percent-encoded UTF-8';
    default:
      return 'the request could not be read';
  }
}

/** Refusals by the router, for which no hooks run. */
export function handleFrameworkError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  setCommonHeaders(request, reply);
  discardBody(request, reply);
  handleError(error, request, reply);
}

const SAFETY_LINES = Object.entries(SAFETY_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

/** Refusals by Node's HTTP parser, made before a request exists. */
export function handleClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const status = clientErrorStatus(error.code);
  const body = errorBody('invalid_request', clientErrorMessage(status));
  if (socket.writable) {
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: ${JSON_TYPE}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n${SAFETY_LINES}Connection: close\r\n\r\n${body}`,
    );
  }
  socket.destroySoon();
}

/** An `Expect` header other than 100-continue, which Node would refuse without a body. */
export function handleExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const body = errorBody('invalid_request', 'the only expectation this server meets is 100-continue');
  response.writeHead(417, {
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    ...SAFETY_HEADERS,
  });
  response.end(body);
}

function clientErrorStatus(code: string | undefined): 400 | 408 | 413 | 431 {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  return code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW' ? 413 : 400;
}

function clientErrorMessage(status: 400 | 408 | 413 | 431): string {
  switch (status) {
    case 408:
      return 'the request took too long to arrive';
    case 413:
      return 'the chunk extensions of the request are too large';
    case 431:
      return 'the request line and headers are too large';
    case 400:
      return 'the request is not valid HTTP';
  }
}
