import type { FastifyReply, FastifyRequest } from 'fastify';
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
 * Sends JSON that is already text. Every route goes through here: no generic serialiser ever walks a job, and what a
 * caller stored is returned byte for byte.
 */
export function sendJson(reply: FastifyReply, status: number, text: string): FastifyReply {
  reply.code(status).header('content-type', JSON_TYPE);
  // Node would convert the text to bytes too, but keep both in memory until everything is sent.
  return reply.send(text.length < COUNTED_BYTES ? text : Buffer.from(text));
}

/** 204: done, with nothing to return. */
export const sendNothing = (reply: FastifyReply): FastifyReply => reply.code(204).send();
