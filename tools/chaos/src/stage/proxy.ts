import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** Stands between a server and its database, and can be told to misbehave. */
export interface Proxy {
  /** The database's URL, through the proxy. */
  readonly url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Takes connections and passes nothing on, in either direction: a peer that is gone without a word. */
  freeze(): void;
  /** Holds back everything that passes, each way, by as many milliseconds as the function says; for connections that begin from now on. */
  slow(delayMs: () => number): void;
  /** Back to normal, for connections that begin from now on; frozen ones stay as dead as they were. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** What stands between them on a slow line, there and back. */
  readonly lines: readonly Transform[];
}

export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const pairs = new Set<Pair>();
  let frozen = false;
  let delayMs: (() => number) | null = null;
  const server = createServer((client) => {
    const pair = connect(client, target, pairs, delayMs);
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
    slow: (ms) => {
      delayMs = ms;
    },
    restore: () => {
      frozen = false;
      delayMs = null;
      return server.listening ? Promise.resolve() : listen(server, port);
    },
    close: cut,
  };
}

function connect(client: Socket, target: URL, pairs: Set<Pair>, delayMs: (() => number) | null): Pair {
  // A directory in place of a host means the socket in it.
  const host = decodeURIComponent(target.hostname);
  const port = Number(target.port || '5432');
  const upstream = host.startsWith('/')
    ? createConnection({ path: `${host}/.s.PGSQL.${port}` })
    : createConnection({ host, port });
  const lines = delayMs === null ? [] : [delayLine(delayMs), delayLine(delayMs)];
  const pair = { client, upstream, lines };
  pairs.add(pair);
  for (const socket of [client, upstream]) {
    socket.on('error', () => destroy(pair));
    socket.on('close', () => {
      destroy(pair);
      pairs.delete(pair);
    });
  }
  const [there, back] = lines;
  (there ? client.pipe(there) : client).pipe(upstream);
  (back ? upstream.pipe(back) : upstream).pipe(client);
  return pair;
}

/** What goes in comes out later, in order. It is long, not narrow: what follows does not wait for what went before to arrive. */
function delayLine(delayMs: () => number): Transform {
  const inFlight: unknown[] = [];
  let arrivesAt = 0;
  let whenEmpty: (() => void) | null = null;
  return new Transform({
    transform(chunk, _encoding, done) {
      arrivesAt = Math.max(arrivesAt, performance.now() + delayMs());
      const waitMs = arrivesAt - performance.now();
      if (waitMs <= 0 && inFlight.length === 0) return done(null, chunk);
      inFlight.push(chunk);
      setTimeout(() => {
        // Timers of different lengths may swap; what they let out must not.
        const first = inFlight.shift();
        if (!this.destroyed) this.push(first);
        if (inFlight.length === 0) whenEmpty?.();
      }, waitMs);
      done();
    },
    flush(done) {
      if (inFlight.length === 0) done();
      else whenEmpty = done;
    },
  });
}

function freeze({ client, upstream, lines }: Pair): void {
  for (const stream of [client, upstream, ...lines]) stream.unpipe().pause();
}

function destroy({ client, upstream, lines }: Pair): void {
  for (const stream of [client, upstream, ...lines]) stream.destroy();
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function through(target: URL, port: number): string {
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}
