import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Ready } from '@millrace/contract';

/**
 * The listener on the metrics port. It serves a page and two probes, in every mode, and needs no framework for that.
 */
export interface MetricsServer {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

/** The page: of this process, or of several. */
export interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/** What the probes tell, the same as on the port of the API. */
export interface Probes {
  readonly health: () => { readonly version: string };
  readonly ready: () => Promise<boolean>;
  /** Of a service on several databases: which of them answer. */
  readonly cells?: () => Promise<Ready['cells']>;
}

export interface MetricsListener {
  readonly host: string;
  readonly port: number;
  /** Says why a request with this `Host` header is refused. Absent: none is. */
  readonly checkHost?: (header: string | undefined) => string | null;
}

export async function startMetricsServer(
  metrics: MetricsPage,
  probes: Probes,
  listen: MetricsListener,
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    const refusal = listen.checkHost?.(request.headers.host) ?? null;
    if (refusal !== null) return sendError(response, 421, 'misdirected_request', refusal);
    void answer(metrics, probes, request, response);
  });
  await listening(server, listen);
  const { port } = server.address() as AddressInfo;
  return { port, stop: () => stopped(server) };
}

async function answer(
  metrics: MetricsPage,
  probes: Probes,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0];
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  switch (isRead ? path : '') {
    case '/metrics':
      return sendMetrics(metrics, response);
    case '/health':
      return sendBody(response, 200, { status: 'healthy', timestamp: new Date().toISOString(), ...probes.health() });
    case '/ready':
      if (await probes.ready()) return sendBody(response, 200, { status: 'ready', cells: await probes.cells?.() });
      return sendError(response, 503, 'unavailable', 'the server is stopping, or its database is not ready');
    default:
      return sendError(response, 404, 'not_found', 'only GET /metrics, /health and /ready are served here');
  }
}

async function sendMetrics(metrics: MetricsPage, response: ServerResponse): Promise<void> {
  let page: string;
  try {
    page = await metrics.text();
  } catch {
    return sendError(response, 500, 'internal', 'the metrics could not be gathered');
  }
  send(response, 200, metrics.contentType, page);
}

function sendError(response: ServerResponse, status: number, code: string, error: string): void {
  if (code === 'unavailable') response.setHeader('retry-after', '2');
  sendBody(response, status, { error, code, timestamp: new Date().toISOString() });
}

const sendBody = (response: ServerResponse, status: number, body: object): void =>
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(body));

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
