import { createServer, type Socket } from 'node:net';
import { close, connectTo, listen, viaPort } from '@millrace/tools-shared';

/**
 * A proxy that can be told to lose one answer: the request that contains a certain text goes through, and the
 * connection is cut as soon as the answer begins to come back. The request has taken effect, and its sender will never
 * know.
 */
export interface AnswerDropper {
  readonly url: string;
  /** Drops the answer to the next request that contains this text, unless that is called off first. */
  dropAnswerTo(text: string): { callOff(): void };
  /** How many answers were dropped. */
  readonly dropped: number;
  close(): Promise<void>;
}

export async function startAnswerDropper(targetUrl: string): Promise<AnswerDropper> {
  const target = new URL(targetUrl);
  const awaited = new Set<string>();
  let dropped = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) =>
    connect(client, target, { awaited, sockets, onDropped: (count) => (dropped += count) }),
  );
  const port = await listen(server);
  return {
    url: viaPort(target, port),
    dropAnswerTo: (text) => {
      awaited.add(text);
      return { callOff: () => void awaited.delete(text) };
    },
    get dropped() {
      return dropped;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return close(server);
    },
  };
}

interface Shared {
  /** Texts of requests that have not come by yet. */
  readonly awaited: Set<string>;
  readonly sockets: Set<Socket>;
  readonly onDropped: (count: number) => void;
}

function connect(client: Socket, target: URL, { awaited, sockets, onDropped }: Shared): void {
  const upstream = connectTo(target);
  /** A server sends one statement for many callers, so one answer may be several. */
  let seen: readonly string[] = [];
  for (const socket of [client, upstream]) {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      client.destroy();
      upstream.destroy();
    });
  }
  client.on('data', (chunk) => {
    // Requests are short: on loopback none is ever split between two chunks.
    seen = [...seen, ...[...awaited].filter((text) => chunk.includes(text))];
    for (const text of seen) awaited.delete(text);
    upstream.write(chunk);
  });
  upstream.on('data', (chunk) => {
    if (seen.length === 0) return void client.write(chunk);
    onDropped(seen.length);
    client.destroy();
  });
}
