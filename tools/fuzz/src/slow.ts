import { connect } from 'node:net';
import type { Violation } from './oracle.js';

/**
 * Slow clients open a connection, send a little, and then a byte every now and then, for ever. The server has to cut
 * them off. Node allows 60 s for the head and the service 300 s for the whole request; it checks every 30 s.
 */
export interface SlowClient {
  readonly name: string;
  /** Sent at once. */
  readonly start: string;
  /** Sent again and again. */
  readonly drip: string;
  readonly limitMs: number;
}

const CHECK_MS = 35_000;
const HEAD_LIMIT_MS = 60_000 + CHECK_MS;
const BODY_LIMIT_MS = 300_000 + CHECK_MS;
const DRIP_MS = 2_000;

export function slowClients(token: string): readonly SlowClient[] {
  const head =
    `POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
    'Content-Type: application/json\r\n';
  return [
    { name: 'slow.head', start: 'GET /health HTTP/1.1\r\nHost: x\r\n', drip: 'X-Drip: 1\r\n', limitMs: HEAD_LIMIT_MS },
    { name: 'slow.line', start: 'GET /', drip: 'x', limitMs: HEAD_LIMIT_MS },
    { name: 'slow.body', start: `${head}Content-Length: 100000\r\n\r\n{`, drip: ' ', limitMs: BODY_LIMIT_MS },
    {
      name: 'slow.chunks',
      start: `${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      drip: '1\r\n \r\n',
      limitMs: BODY_LIMIT_MS,
    },
  ];
}

/** Resolves to null once the server has cut the client off, or to a violation if it has not within the limit. */
export function dawdle(
  port: number,
  { name, start, drip, limitMs }: SlowClient,
  signal: AbortSignal,
): Promise<Violation | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(start));
    const dripping = setInterval(() => socket.write(drip), DRIP_MS);
    const limit = setTimeout(
      () => done({ rule: 'slow-client', detail: `${name} was not cut off within ${limitMs / 1000} s` }),
      limitMs,
    );
    const done = (found: Violation | null): void => {
      clearInterval(dripping);
      clearTimeout(limit);
      socket.destroy();
      resolve(found);
    };
    socket.on('error', () => undefined);
    socket.on('data', () => undefined);
    socket.on('close', () => done(null));
    signal.addEventListener('abort', () => done(null));
  });
}
