import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

type Receiver = (reply: Reply) => void;

const HEAD_END = Buffer.from('\r\n\r\n');
const STATUS_AT = 'HTTP/1.1 '.length;

/**
 * A keep-alive connection that speaks just enough HTTP/1.1 to measure with: requests are buffers made beforehand,
 * replies are a status and a body of announced length.
 *
 * We wrote our own because on a machine with two cores the load generator takes its processor time from what it
 * measures: a general client (node:http, undici, autocannon) costs more per request than the one write and one read
 * that it takes here.
 */
export class Connection {
  #receiver: Receiver | null = null;
  #fail: ((error: Error) => void) | null = null;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #expected = 0;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#break(error));
    socket.on('close', () => this.#break(new Error('the server closed the connection')));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Connection(socket);
  }

  static openMany(port: number, count: number): Promise<Connection[]> {
    return Promise.all(Array.from({ length: count }, () => Connection.open(port)));
  }

  /** One request at a time. The callback saves a promise per request. */
  send(request: Buffer, receive: Receiver, fail: (error: Error) => void): void {
    this.#receiver = receive;
    this.#fail = fail;
    this.socket.write(request);
  }

  request(request: Buffer): Promise<Reply> {
    return new Promise((resolve, reject) => this.send(request, resolve, reject));
  }

  close(): void {
    this.#receiver = this.#fail = null;
    this.socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#pieces.push(chunk);
    this.#bytes += chunk.length;
    if (this.#expected > 0 && this.#bytes < this.#expected) return;
    const whole = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces);
    const head = whole.indexOf(HEAD_END);
    if (head === -1) return;
    const bodyAt = head + HEAD_END.length;
    this.#expected = bodyAt + contentLength(whole.toString('latin1', 0, head));
    if (this.#bytes < this.#expected) return;
    const status = Number(whole.toString('latin1', STATUS_AT, STATUS_AT + 3));
    this.#pieces = [];
    this.#bytes = this.#expected = 0;
    const receive = this.#receiver;
    this.#receiver = this.#fail = null;
    receive?.({ status, body: whole.subarray(bodyAt) });
  }

  #break(error: Error): void {
    const fail = this.#fail;
    this.#receiver = this.#fail = null;
    fail?.(error);
  }
}

function contentLength(head: string): number {
  const found = /\r\ncontent-length: (\d+)/i.exec(head);
  if (found) return Number(found[1]);
  if (/\r\ntransfer-encoding:/i.test(head)) throw new Error('a reply has no Content-Length');
  return 0;
}

export function post(path: string, token: string, body: string, headers = ''): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n` +
      `${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/**
 * Requests with a fresh `Idempotency-Key` each that, like those of the SDK, begins with the time. All but the key is
 * made beforehand: who measures what keys cost the service must not pay more for them than it does.
 */
export function keyedRequests(path: string, token: string, body: string): () => Buffer {
  const process = randomHex();
  let sent = 0;
  const nextKey = (): string => `${Date.now().toString(16)}-${process}${(sent++).toString(16).padStart(12, '0')}`;
  const first = nextKey();
  const template = post(path, token, body, `idempotency-key: ${first}\r\n`);
  const keyAt = template.indexOf(first);
  return () => {
    const request = Buffer.allocUnsafe(template.length);
    template.copy(request);
    request.write(nextKey(), keyAt, 'latin1');
    return request;
  };
}

const randomHex = (): string =>
  Math.floor(Math.random() * 2 ** 48)
    .toString(16)
    .padStart(12, '0');

export function get(path: string, token: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n\r\n`);
}

/** The error if a reply does not have the wanted status, or null. */
export function unexpected({ status, body }: Reply, wanted: number): Error | null {
  if (status === wanted) return null;
  return new Error(`expected ${wanted}, got ${status}: ${body.toString('utf8').slice(0, 300)}`);
}

export function expectStatus(reply: Reply, wanted: number): void {
  const wrong = unexpected(reply, wanted);
  if (wrong !== null) throw wrong;
}
