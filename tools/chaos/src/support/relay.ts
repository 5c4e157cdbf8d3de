import { createConnection, createServer, type Socket } from 'node:net';
import { close, listen } from '@millrace/tools-shared';

/**
 * A fixed address in front of whichever PostgreSQL is the primary, as a virtual IP or a DNS name is in a real failover.
 */
export interface Relay {
  readonly port: number;
  /**
   * Sends new connections there and closes all others, so that nobody keeps talking to the old one. Null refuses all.
   */
  pointTo(socketPath: string | null): void;
  close(): Promise<void>;
}

export async function startRelay(target: string): Promise<Relay> {
  let current: string | null = target;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    if (current === null) return void client.destroy();
    const upstream = createConnection({ path: current });
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', end).on('close', () => {
        open.delete(socket);
        end();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  const pointTo = (socketPath: string | null): void => {
    current = socketPath;
    for (const socket of open) socket.destroy();
  };
  return {
    port: await listen(server),
    pointTo,
    close: () => {
      pointTo(null);
      return close(server);
    },
  };
}
