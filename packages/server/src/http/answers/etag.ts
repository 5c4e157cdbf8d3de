import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { COUNTED_BYTES } from '../access/answer-room.js';
import { sendJson, withWarnings } from './reply.js';

/**
 * Answers to reads that are asked for again and again carry a weak ETag, made from their text. Who sends it back as
 * `If-None-Match` gets 304 and no body while the answer is the same: the work in the database is done all the same, but
 * nothing has to be sent and parsed. `tagged` is what the tag is made from, where part of the answer is new each time.
 * Warnings are a part of it: they may be about the service.
 */
export function sendTagged(request: FastifyRequest, reply: FastifyReply, text: string, tagged = text): FastifyReply {
  // A long text becomes bytes once, to be tagged and to be sent.
  const body = text.length < COUNTED_BYTES ? text : Buffer.from(withWarnings(text, request));
  const isWhole = tagged === text && typeof body !== 'string';
  const tag = `"${hash('sha1', isWhole ? body : withWarnings(tagged, request), 'base64url')}"`;
  reply.header('etag', `W/${tag}`);
  return isKnown(request.headers['if-none-match'], tag) ? reply.code(304).send() : sendJson(reply, 200, body);
}

/** Compared weakly, as RFC 9110 has it for this header: whether a tag says W/ or not makes no difference. */
function isKnown(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === tag);
}
