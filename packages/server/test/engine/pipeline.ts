import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * Many requests on one connection, written at once before any answer is read: they reach the server at the same moment,
 * which is what a test of batching needs and separate calls cannot promise.
 */
export interface PipelinedRequest {
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token: string;
}

export interface PipelinedReply {
  readonly status: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

export async function pipeline(url: string, requests: readonly PipelinedRequest[]): Promise<PipelinedReply[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'connect');
  socket.write(requests.map((request, i) => encode(request, i === requests.length - 1)).join(''));
  await once(socket, 'close');
  return decodeAll(Buffer.concat(chunks));
}

function encode({ path, body, headers = {}, token }: PipelinedRequest, last: boolean): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: test',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(last ? ['connection: close'] : []),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

function decodeAll(bytes: Buffer): PipelinedReply[] {
  const replies: PipelinedReply[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at) + 4;
    const head = bytes.toString('latin1', at, end);
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    const text = bytes.toString('utf8', end, end + length);
    replies.push({ status: Number(head.split(' ', 2)[1]), body: text === '' ? undefined : JSON.parse(text) });
    at = end + length;
  }
  return replies;
}
