import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Stands between a server and its database, and can be told to misbehave. */
export interface Proxy {
  /** The database's URL, through the proxy. */
  readonly url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Takes connections and passes nothing on, in either direction: a peer that is gone without a word. */
  freeze(): void;
  /** Back to normal, for connections that begin from now on; frozen ones stay as dead as they were. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
}

export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const pairs = new Set<Pair>();
  let frozen = false;
  const server = createServer((client) => {
    const pair = connect(client, target, pairs);
    if (frozen) freeze(pair);
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  const cut = (): Promise<void> => {
    for (const pair of pairs) destroy(pair);
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return {
    url: through(target, port),
    cut,
    freeze: () => {
      frozen = true;
      for (const pair of pairs) freeze(pair);
    },
    restore: () => {
      frozen = false;
      return server.listening ? Promise.resolve() : listen(server, port);
    },
    close: cut,
  };
}

function connect(client: Socket, target: URL, pairs: Set<Pair>): Pair {
  // A directory in place of a host means the socket in it.
  const host = decodeURIComponent(target.hostname);
  const port = Number(target.port || '5432');
  const upstream = host.startsWith('/')
    ? createConnection({ path: `${host}/.s.PGSQL.${port}` })
    : createConnection({ host, port });
  const pair = { client, upstream };
  pairs.add(pair);
  for (const socket of [client, upstream]) {
    socket.on('error', () => destroy(pair));
    socket.on('close', () => {
      destroy(pair);
      pairs.delete(pair);
    });
  }
  client.pipe(upstream).pipe(client);
  return pair;
}

function freeze({ client, upstream }: Pair): void {
  client.unpipe(upstream).pause();
  upstream.unpipe(client).pause();
}

function destroy({ client, upstream }: Pair): void {
  client.destroy();
  upstream.destroy();
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
}

function through(target: URL, port: number): string {
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}
