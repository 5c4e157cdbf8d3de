import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Reply } from './verdict.js';

/**
 * Calls of the service: one try each, over connections that are kept. Its callers know what to do with each reply; the
 * token is in no message.
 */
const CALL_MS = 20_000;
/** Of an answer that is read. Errors name every item that is wrong, and that is all we want to know. */
const MOST_ANSWER = 4 * 1024 * 1024;

/** Before a connection is there, nothing can have been sent. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT']);

export interface ServiceOptions {
  readonly url: string;
  readonly token: string;
}

export class ServiceClient {
  readonly #base: URL;
  readonly #agent: HttpAgent;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ url, token }: ServiceOptions) {
    this.#base = new URL(`${url.replace(/\/+$/, '')}/api/v1/`);
    this.#agent =
      this.#base.protocol === 'https:' ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
    // An older service must refuse what it does not know, instead of ignoring it.
    this.#headers = { authorization: `Bearer ${token}`, prefer: 'handling=strict', 'user-agent': 'millrace-relay' };
  }

  whoAmI(): Promise<Reply> {
    return this.#call('GET', 'whoami', null, {});
  }

  createJobs(body: string): Promise<Reply> {
    return this.#call('POST', 'jobs/batch', body, {});
  }

  createWorkflow(body: string, key: string): Promise<Reply> {
    return this.#call('POST', 'workflows', body, { 'idempotency-key': key });
  }

  close(): void {
    this.#agent.destroy();
  }

  #call(method: string, path: string, body: string | null, headers: Record<string, string>): Promise<Reply> {
    const content = body === null ? null : Buffer.from(body);
    const options: RequestOptions = {
      method,
      agent: this.#agent,
      headers: {
        ...this.#headers,
        ...headers,
        ...(content !== null && { 'content-type': 'application/json', 'content-length': String(content.length) }),
      },
    };
    return new Promise((resolve) => {
      const send = this.#base.protocol === 'https:' ? httpsRequest : httpRequest;
      const request = send(new URL(path, this.#base), options, (response) => void answer(response).then(finish, fail));
      const timer = setTimeout(() => request.destroy(new Error(`no answer within ${CALL_MS / 1000} s`)), CALL_MS);
      const finish = (reply: Reply): void => (clearTimeout(timer), resolve(reply));
      const fail = (error: NodeJS.ErrnoException): void =>
        finish({ kind: 'none', unsent: NOT_CONNECTED.has(codeOf(error)), reason: error.message || codeOf(error) });
      request.on('error', fail);
      request.end(content ?? undefined);
    });
  }
}

/** Attempts on several addresses fail as one, and are alike. */
function codeOf(error: NodeJS.ErrnoException): string {
  if (error instanceof AggregateError) return codeOf((error.errors[0] ?? {}) as NodeJS.ErrnoException);
  return error.code ?? '';
}

async function answer(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (bytes < MOST_ANSWER) chunks.push(chunk);
    bytes += chunk.length;
  }
  const seconds = Number(response.headers['retry-after'] ?? NaN);
  return {
    kind: 'answer',
    status: response.statusCode ?? 0,
    body: Buffer.concat(chunks).toString('utf8'),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null,
  };
}
