import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The least that a balancer does: each request goes to the next server, on a connection of its own, and a connection that is refused sends it
 * to the one after that. Whatever else goes wrong is told to the client as 502: a request that may have arrived is not repeated.
 */
export interface Balancer {
  readonly url: string;
  close(): Promise<void>;
}

export async function startBalancer(servers: readonly { readonly url: string }[]): Promise<Balancer> {
  let turn = 0;
  const balancer = createServer((incoming, outgoing) => {
    void read(incoming).then((body) => {
      turn = (turn + 1) % servers.length;
      const order = servers.map((_, n) => servers[(turn + n) % servers.length]!.url);
      forward({ incoming, outgoing, body }, order);
    });
  });
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  return { url: `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`, close: () => close(balancer) };
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly body: Buffer;
}

function forward(exchange: Exchange, [url, ...others]: readonly string[]): void {
  const { incoming, outgoing, body } = exchange;
  if (url === undefined) return void outgoing.writeHead(502).end('no server takes connections');
  const { method, headers, url: path = '/' } = incoming;
  const call = request(new URL(path, url), { ...(method && { method }), headers, agent: false }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
    answer.on('error', () => outgoing.destroy());
  });
  call.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNREFUSED') return forward(exchange, others);
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502).end(`${method} ${path}: ${error.code ?? error.message}`);
  });
  call.end(body);
}

async function read(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
