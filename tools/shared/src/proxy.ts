import { createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { close, connectTo, listen, viaPort } from './sockets.js';

/** Sits between a client and the server it talks to, and can be told to misbehave. */
export interface Proxy {
  /** The server's URL by way of the proxy. */
  readonly url: string;
  /** Closes every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts connections and passes nothing on in either direction, like a peer that vanished without a word. */
  freeze(): void;
  /**
   * Delays everything that passes, each way, by what the function returns. Applies to connections opened from now on.
   */
  slow(delayMs: () => number): void;
  /** Back to normal for connections opened from now on; frozen ones stay dead. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** The delay lines between them, there and back; none on a fast line. */
  readonly lines: readonly Transform[];
}

export async function startProxy(targetUrl: string): Promise<Proxy> {
  const target = new URL(targetUrl);
  const pairs = new Set<Pair>();
  let frozen = false;
  let delayMs: (() => number) | null = null;
  const server = createServer((client) => {
    const pair = connect(client, target, pairs, delayMs);
    if (frozen) freeze(pair);
  });
  const port = await listen(server);
  const cut = (): Promise<void> => {
    for (const pair of pairs) destroy(pair);
    return close(server);
  };
  return {
    url: viaPort(target, port),
    cut,
    freeze: () => {
      frozen = true;
      for (const pair of pairs) freeze(pair);
    },
    slow: (ms) => {
      delayMs = ms;
    },
    restore: async () => {
      frozen = false;
      delayMs = null;
      if (!server.listening) await listen(server, port);
    },
    close: cut,
  };
}

function connect(client: Socket, target: URL, pairs: Set<Pair>, delayMs: (() => number) | null): Pair {
  const upstream = connectTo(target);
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

/**
 * What goes in comes out later, in order. The line is long, not narrow: a chunk need not wait for the one before it to
 * arrive.
 */
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
        // Timers of different lengths may fire out of order; the chunks must not come out that way.
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
