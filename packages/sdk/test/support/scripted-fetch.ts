/** One answer of a scripted server, or a failure to answer. */
export type Scripted =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> }
  | 'no answer'
  | 'hangs';

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly headers: Headers;
  readonly body: any;
}

/**
 * A `fetch` that answers by a script and keeps what it was asked. A path has its own list of answers, the last of which
 * is repeated; what the script does not know is 404.
 */
export function scriptedFetch(script: Record<string, readonly Scripted[]>): {
  fetch: typeof globalThis.fetch;
  calls: Call[];
} {
  const calls: Call[] = [];
  const at = new Map<string, number>();
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const path = url.pathname.replace('/api/v1', '');
    const text = await request.text();
    const body = text === '' ? undefined : JSON.parse(text);
    calls.push({
      method: request.method,
      path,
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      body,
    });
    const key = `${request.method} ${path}`;
    const answers = script[key] ?? [{ status: 404, body: { error: 'no such route', code: 'not_found' } }];
    const index = at.get(key) ?? 0;
    at.set(key, index + 1);
    const answer = answers[Math.min(index, answers.length - 1)]!;
    if (answer === 'no answer') throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
    if (answer === 'hangs') {
      return new Promise((_resolve, reject) => {
        request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
      });
    }
    const text_ = answer.body === undefined ? null : JSON.stringify(answer.body);
    return new Response(text_, { status: answer.status, headers: answer.headers ?? {} });
  };
  return { fetch: fetch, calls };
}
