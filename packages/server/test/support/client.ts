export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed JSON, or undefined for an empty or other body. Tests read it freely, so it is not typed. */
  readonly body: any;
}

export interface SendOptions {
  /** Sent as JSON, except strings and bytes, which are sent as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Calls the API as one caller, always with that caller's token. */
export interface Client {
  get(path: string, headers?: SendOptions['headers']): Promise<Reply>;
  post(path: string, body?: unknown, headers?: SendOptions['headers']): Promise<Reply>;
  delete(path: string, headers?: SendOptions['headers']): Promise<Reply>;
  send(method: string, path: string, options?: SendOptions): Promise<Reply>;
  /** The answer as it streams in, for event streams and for hanging up halfway. */
  open(method: string, path: string, options?: SendOptions): Promise<Response>;
}

/** `token` null: no Authorization header at all. */
export function createClient(baseUrl: string, token: string | null): Client {
  const open = (method: string, path: string, { body, headers, signal }: SendOptions = {}): Promise<Response> => {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    return fetch(new URL(path, baseUrl), {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  };
  const send = async (method: string, path: string, options?: SendOptions): Promise<Reply> => {
    const response = await open(method, path, options);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
  };
  const withHeaders = (headers: SendOptions['headers']): SendOptions => (headers ? { headers } : {});
  return {
    open,
    send,
    get: (path, headers) => send('GET', path, withHeaders(headers)),
    delete: (path, headers) => send('DELETE', path, withHeaders(headers)),
    post: (path, body, headers) => send('POST', path, { ...withHeaders(headers), ...(body !== undefined && { body }) }),
  };
}
