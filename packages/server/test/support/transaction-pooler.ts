import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import pg from 'pg';
import { throughPort } from './pgbouncer.js';

/**
 * A minimal pooler in transaction mode, for tests that must not need an installed one. Stricter than real ones: every
 * transaction gets the next server connection in turn, so whatever relies on the previous one fails at once.
 */
export interface TransactionPooler {
  readonly url: string;
  close(): Promise<void>;
}

/** How session settings in a startup packet are treated: PgBouncer's default, `ignore_startup_parameters`, or kept. */
export type StartupOptions = 'refuse' | 'ignore' | 'replay';

const SSL_REQUEST = 80_877_103;

export async function startTransactionPooler(
  databaseUrl: string,
  startup: StartupOptions = 'refuse',
  size = 3,
): Promise<TransactionPooler> {
  const backends = await Promise.all(Array.from({ length: size }, () => openBackend(databaseUrl)));
  const lender = new Lender(backends);
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => clients.delete(socket));
    serve(socket, lender, startup);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: throughPort(databaseUrl, (server.address() as AddressInfo).port),
    close: async () => {
      for (const socket of clients) socket.destroy();
      server.close();
      for (const { stream } of backends) stream.end(message('X'));
      await once(server, 'close');
    },
  };
}

interface Backend {
  readonly stream: Socket;
  receive: (frame: Buffer) => void;
}

/** The driver makes the connection; from then on its socket is ours. */
async function openBackend(connectionString: string): Promise<Backend> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.removeAllListeners('data').removeAllListeners('end').removeAllListeners('close');
  const backend: Backend = { stream, receive: () => undefined };
  stream.on(
    'data',
    framed((frame) => backend.receive(frame)),
  );
  return backend;
}

class Lender {
  readonly #free: Backend[];
  readonly #waiting: ((backend: Backend) => void)[] = [];

  constructor(backends: readonly Backend[]) {
    this.#free = [...backends];
  }

  async borrow(): Promise<Backend> {
    return this.#free.shift() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  giveBack(backend: Backend): void {
    const next = this.#waiting.shift();
    if (next) next(backend);
    else this.#free.push(backend);
  }
}

function serve(socket: Socket, lender: Lender, startup: StartupOptions): void {
  let settings = '';
  socket.once('data', function greet(packet: Buffer) {
    if (packet.readInt32BE(4) === SSL_REQUEST) {
      socket.write('N');
      return void socket.once('data', greet);
    }
    const options = startOptions(packet);
    if (options && startup === 'refuse') return void socket.end(refusal());
    if (options && startup === 'replay') settings = setAll(options);
    socket.write(Buffer.concat([message('R', Buffer.alloc(4)), message('Z', 'I')]));
    talk(socket, lender, () => settings);
  });
}

/** One client has one server connection from the first message of a transaction to the "ready, idle" at its end. */
function talk(socket: Socket, lender: Lender, settings: () => string): void {
  let loan: Promise<Backend> | null = null;
  const borrow = async (): Promise<Backend> => {
    const backend = await lender.borrow();
    if (settings()) await simply(backend, settings());
    backend.receive = (frame) => {
      if (!socket.destroyed) socket.write(frame);
      if (frame.toString('latin1', 0, 1) !== 'Z' || frame.toString('latin1', 5, 6) !== 'I') return;
      loan = null;
      lender.giveBack(backend);
    };
    return backend;
  };
  const pass = framed((frame) => {
    if (frame.toString('latin1', 0, 1) === 'X') return void socket.end();
    loan ??= borrow();
    void loan.then(({ stream }) => stream.write(frame));
  });
  socket.on('data', pass);
}

function simply(backend: Backend, text: string): Promise<void> {
  return new Promise((resolve) => {
    backend.receive = (frame) => {
      if (frame.toString('latin1', 0, 1) === 'Z') resolve();
    };
    backend.stream.write(message('Q', `${text}\0`));
  });
}

/** Whole messages: a letter, a length, and the rest. */
function framed(take: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const length = 1 + rest.readInt32BE(1);
      take(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}

function message(type: string, body: string | Buffer = ''): Buffer {
  const content = Buffer.from(body as string);
  const head = Buffer.alloc(5, type, 'latin1');
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

const refusal = (): Buffer => message('E', 'SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0');

function startOptions(packet: Buffer): string {
  const words = packet.toString('utf8', 8).split('\0');
  const at = words.findIndex((word, index) => index % 2 === 0 && word === 'options');
  return at < 0 ? '' : (words[at + 1] ?? '');
}

const setAll = (options: string): string =>
  [...options.matchAll(/-c (\w+)=((?:\\ |\S)*)/g)]
    .map(([, name, value = '']) => `SET ${name} = '${value.replaceAll('\\ ', ' ')}'`)
    .join('; ');
