import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics.js';

/** The listener on the metrics port. It serves a single page and needs no framework for that. */
export interface MetricsServer {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

export async function startMetricsServer(
  metrics: Metrics,
  listen: { readonly host: string; readonly port: number },
): Promise<MetricsServer> {
  const server = createServer((request, response) => void answer(metrics, request, response));
  await listening(server, listen);
  const { port } = server.address() as AddressInfo;
  return { port, stop: () => stopped(server) };
}

async function answer(metrics: Metrics, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0];
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (path !== '/metrics' || !isRead) return sendError(response, 404, 'not_found', 'only GET /metrics is served here');
  let page: string;
  try {
    page = await metrics.text();
  } catch {
    return sendError(response, 500, 'internal', 'the metrics could not be gathered');
  }
  send(response, 200, metrics.contentType, page);
}

function sendError(response: ServerResponse, status: number, code: string, error: string): void {
  const body = JSON.stringify({ error, code, timestamp: new Date().toISOString() });
  send(response, status, 'application/json; charset=utf-8', body);
}

/** Node itself omits the body if the request was a HEAD. */
function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}

function listening(server: Server, { host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function stopped(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
