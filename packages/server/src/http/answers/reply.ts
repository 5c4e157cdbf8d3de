import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Created } from '../../engine/api.js';
import { COUNTED_BYTES } from '../access/answer-room.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** On every answer. None is a web page: browsers must not guess its type, cache it or show it in a frame. */
export const SAFETY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id).headers(SAFETY_HEADERS);
}

/**
 * Sends JSON that is already text, or bytes with the warnings in them. Every route goes through here: no generic
 * serialiser ever walks a job, and what a caller stored is returned byte for byte.
 */
export function sendJson(reply: FastifyReply, status: number, text: string | Buffer): FastifyReply {
  reply.code(status).header('content-type', JSON_TYPE);
  if (typeof text !== 'string') return reply.send(text);
  const body = status < 300 ? withWarnings(text, reply.request) : text;
  // Node would convert the text to bytes too, but keep both in memory until everything is sent.
  return reply.send(body.length < COUNTED_BYTES ? body : Buffer.from(body));
}

/** The text, or end, of a JSON object, with what of the request had no effect as its last member. */
export const withWarnings = (text: string, { warnings }: FastifyRequest): string =>
  warnings === null ? text : `${text.slice(0, -1)},"warnings":${JSON.stringify(warnings)}}`;

/** 201: what was created, now or by an earlier request with the same idempotency key, and where it is. */
export function sendCreated(
  reply: FastifyReply,
  { id, replayed, mismatch }: Created,
  field: string,
  path: string,
  status = 201,
): FastifyReply {
  if (replayed) noteReplay(reply);
  if (mismatch === true) noteMismatch(reply);
  reply.header('location', `/api/v1/${path}/${id}`);
  return sendJson(reply, status, `{"${field}":"${id}"}`);
}

/** The answer repeats an earlier one: this request did nothing. */
export const noteReplay = (reply: FastifyReply): FastifyReply => reply.header('idempotency-replayed', 'true');

/** The earlier request of the same key asked for something else: a key that was meant for another request. */
export const noteMismatch = (reply: FastifyReply): FastifyReply => reply.header('idempotency-mismatch', 'true');

/** 204: done, with nothing to return. */
export const sendNothing = (reply: FastifyReply): FastifyReply => reply.code(204).send();
