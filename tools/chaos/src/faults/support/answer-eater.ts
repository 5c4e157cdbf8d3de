import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * Stands between two who talk, and can be told to lose one answer: the question that holds a certain text goes through, and as soon as the
 * answer begins to come back the connection is cut. What was asked for has happened, and who asked for it will never know.
 */
export interface AnswerEater {
  readonly url: string;
  /** The answer to the next question with this text will be eaten, unless that is called off before. */
  eatAnswerTo(text: string): { callOff(): void };
  /** How many were. */
  readonly eaten: number;
  close(): Promise<void>;
}

export async function startAnswerEater(targetUrl: string): Promise<AnswerEater> {
  const target = new URL(targetUrl);
  const appetites = new Set<string>();
  let eaten = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) =>
    connect(client, target, { appetites, sockets, onEaten: (n) => (eaten += n) }),
  );
  const port = await listen(server);
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    eatAnswerTo: (text) => {
      appetites.add(text);
      return { callOff: () => void appetites.delete(text) };
    },
    get eaten() {
      return eaten;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

interface Table {
  readonly appetites: Set<string>;
  readonly sockets: Set<Socket>;
  readonly onEaten: (n: number) => void;
}

function connect(client: Socket, target: URL, { appetites, sockets, onEaten }: Table): void {
  const upstream = open(target);
  /** A server asks for many callers at once, so one answer may be several. */
  let wanted: readonly string[] = [];
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
    // Questions are short: none is ever cut in two between this machine and itself.
    wanted = [...wanted, ...[...appetites].filter((text) => chunk.includes(text))];
    for (const text of wanted) appetites.delete(text);
    upstream.write(chunk);
  });
  upstream.on('data', (chunk) => {
    if (wanted.length === 0) return void client.write(chunk);
    onEaten(wanted.length);
    client.destroy();
  });
}

/** A directory in place of a host means the socket in it. */
function open(target: URL): Socket {
  const host = decodeURIComponent(target.hostname);
  const port = Number(target.port || '5432');
  return host.startsWith('/')
    ? createConnection({ path: `${host}/.s.PGSQL.${port}` })
    : createConnection({ host, port, noDelay: true });
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
