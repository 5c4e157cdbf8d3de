import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';

/** A fixed address in front of whichever PostgreSQL is the primary now: what a virtual address or a name is to a real failover. */
export interface Relay {
  readonly port: number;
  /** Sends new connections there and ends all others, so that nobody goes on talking to the one before. Null: refuses everybody. */
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const pointTo = (socketPath: string | null): void => {
    current = socketPath;
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    pointTo,
    close: async () => {
      pointTo(null);
      server.close();
      await once(server, 'close');
    },
  };
}
