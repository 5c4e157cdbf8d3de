import { randomBytes } from 'node:crypto';
import type { RawServerBase, RawRequestDefaultExpression } from 'fastify';

type RawRequest = RawRequestDefaultExpression<RawServerBase>;

/** What is harmless in a log line or a header. */
const SANE = /^[\w.:/+=@-]{1,128}$/;

/**
 * Keeps the id that a caller or a proxy gave, so that a request has the same id everywhere; otherwise makes a short
 * one.
 */
export function requestIds(): (request: RawRequest) => string {
  const process = randomBytes(6).toString('base64url');
  let count = 0;
  return ({ headers }) => {
    const given = headers['x-request-id'];
    return typeof given === 'string' && SANE.test(given) ? given : `${process}-${(++count).toString(36)}`;
  };
}
