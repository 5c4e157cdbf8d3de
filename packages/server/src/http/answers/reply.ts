import type { FastifyReply, FastifyRequest } from 'fastify';
import { COUNTED_BYTES } from '../access/answer-room.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** On every answer: nothing here is a page, to be guessed at, kept by a cache or put into a frame. */
export const SAFETY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id).headers(SAFETY_HEADERS);
}

/**
 * Sends JSON that is text already. Every route goes through here: no generic serialiser ever walks a job, and what a
 * caller stored is returned byte for byte.
 */
export function sendJson(reply: FastifyReply, status: number, text: string): FastifyReply {
  reply.code(status).header('content-type', JSON_TYPE);
  // Node would make bytes of it too, and keep the text beside them until all of it is sent.
  return reply.send(text.length < COUNTED_BYTES ? text : Buffer.from(text));
}

/** 204: done, and there is nothing to say. */
export const sendNothing = (reply: FastifyReply): FastifyReply => reply.code(204).send();
