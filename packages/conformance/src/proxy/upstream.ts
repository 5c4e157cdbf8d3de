import { request, type Agent, type IncomingMessage } from 'node:http';

/** A request as the worker sent it, and an answer as the server or the kit gave it. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Headers that belong to one connection, or that the new message has of its own. */
const OF_THE_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host', 'expect'];

/** Passes a request on. `gone` aborts it, so that the server notices when the worker hangs up. */
export function passOn(target: URL, agent: Agent, sent: Sent, gone: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = target;
    const { method, path } = sent;
    const headers = { ...ofTheMessage(sent.headers), 'content-length': Buffer.byteLength(sent.body) };
    const upstream = request({ hostname, port, agent, method, path, headers, signal: gone }, (answer) => {
      readAll(answer).then(
        (body) => resolve({ status: answer.statusCode ?? 500, headers: ofTheMessage(answer.headers), body }),
        reject,
      );
    });
    upstream.on('error', reject);
    upstream.end(sent.body);
  });
}

const ofTheMessage = (headers: Answer['headers']): Answer['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.includes(name)));

export async function readAll(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
