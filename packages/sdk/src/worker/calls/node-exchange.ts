import { Agent as HttpAgent, request as overHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as overHttps } from 'node:https';
import type { Exchange, ExchangeAnswer } from '../../http/transport.js';

/**
 * What a worker needs of `fetch`, over node:http, at half the price (docs/adr/0028-worker-http.md): a text goes out, a
 * text comes back. Redirects are not followed: `fetch` would not take the token along to another host either.
 */
export const nodeExchange: Exchange = (url, { method, headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const target = new URL(url);
    const [send, agent] = target.protocol === 'https:' ? [overHttps, AGENTS.https] : [overHttp, AGENTS.http];
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const request = send(target, { method, headers: { ...headers, ...length }, signal, agent }, (message) =>
      readAnswer(message, resolve, reject),
    );
    request.on('error', reject);
    request.end(body);
  });

/** For all workers of a process. A connection that nobody uses does not keep the process alive. */
const AGENTS = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

function readAnswer(
  message: IncomingMessage,
  resolve: (answer: ExchangeAnswer) => void,
  reject: (error: Error) => void,
): void {
  const pieces: Buffer[] = [];
  message.on('data', (piece: Buffer) => pieces.push(piece));
  message.on('error', reject);
  message.on('end', () => {
    const status = message.statusCode ?? 0;
    // Decoded as a whole: a character may lie on the border of two pieces.
    const text = Buffer.concat(pieces).toString('utf8');
    resolve({
      ok: status >= 200 && status < 300,
      status,
      statusText: message.statusMessage ?? '',
      headers: { get: (name) => headerOf(message, name) },
      text: () => Promise.resolve(text),
    });
  });
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name.toLowerCase()];
  if (value === undefined) return null;
  return Array.isArray(value) ? value.join(', ') : value;
}
