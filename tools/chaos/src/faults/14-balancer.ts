import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Target {
  readonly url: string;
}

/**
 * The least that a balancer does: each request goes to the next server, on a connection of its own. Whatever goes wrong is told to the client
 * as 502; nothing is repeated.
 */
export interface Balancer {
  readonly url: string;
  /** From now on no request goes there; those that are under way go on. */
  takeOut(server: Target): void;
  putBack(server: Target): void;
  close(): Promise<void>;
}

export async function startBalancer(targets: readonly Target[]): Promise<Balancer> {
  const servers = [...targets];
  let turn = 0;
  const balancer = createServer((incoming, outgoing) => {
    void read(incoming).then((body) => {
      turn = (turn + 1) % servers.length;
      forward({ incoming, outgoing, body }, servers[turn]!.url);
    });
  });
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  return {
    url: `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`,
    takeOut: (server) => void servers.splice(servers.indexOf(server), 1),
    putBack: (server) => void servers.push(server),
    close: () => close(balancer),
  };
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly body: Buffer;
}

function forward({ incoming, outgoing, body }: Exchange, url: string): void {
  const { method, headers, url: path = '/' } = incoming;
  const call = request(new URL(path, url), { ...(method && { method }), headers, agent: false }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
    answer.on('error', () => outgoing.destroy());
  });
  call.on('error', (error: NodeJS.ErrnoException) => {
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
