import type { FastifyReply } from 'fastify';

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Sends JSON that is text already. Every route goes through here: no generic serialiser ever walks a job, and what a
 * caller stored is returned byte for byte.
 */
export function sendJson(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).header('content-type', JSON_TYPE).send(text);
}

/** 204: done, and there is nothing to say. */
export const sendNothing = (reply: FastifyReply): FastifyReply => reply.code(204).send();
