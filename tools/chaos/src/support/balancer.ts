import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { close, listen } from '@millrace/tools-shared';

const KEEP_ALIVE_MS = 120_000;

interface Target {
  readonly url: string;
}

/**
 * The least that a load balancer does: each request goes to the next server, on a new connection. If anything goes
 * wrong the client gets a 502; nothing is retried.
 */
export interface Balancer {
  readonly url: string;
  /** Sends no more requests there; those in flight carry on. */
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
  // Longer than a client on a busy machine may pause between two requests: closing first would lose the next one.
  balancer.keepAliveTimeout = KEEP_ALIVE_MS;
  return {
    url: `http://127.0.0.1:${await listen(balancer)}`,
    takeOut: (server) => void servers.splice(servers.indexOf(server), 1),
    putBack: (server) => void servers.push(server),
    close: () => {
      balancer.closeAllConnections();
      return close(balancer);
    },
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
