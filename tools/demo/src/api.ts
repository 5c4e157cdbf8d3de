import { setTimeout as delay } from 'node:timers/promises';

/** An answer that is none of the expected ones. The demonstration says so and goes on. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const DEFAULT_PAUSE_MS = 1000;
const TIMEOUT_MS = 60_000;

/**
 * One tenant, or the workers, of one server. Bodies are text, because payloads hold numbers that JSON.parse would
 * round. A 503 is heeded with its `Retry-After`; a server that is restarting is waited for.
 */
export class Api {
  constructor(
    private readonly url: string,
    private readonly token: string,
    private readonly signal: AbortSignal,
  ) {}

  async call<T>(method: string, path: string, body?: string): Promise<T> {
    for (;;) {
      const response = await this.#fetch(method, path, body);
      const pause = response === null || response.status === 503;
      if (!pause) return (await this.#read(response, `${method} ${path}`)) as T;
      const seconds = Number(response?.headers.get('retry-after') ?? NaN);
      await delay(Number.isNaN(seconds) ? DEFAULT_PAUSE_MS : seconds * 1000, undefined, { signal: this.signal });
    }
  }

  /** Null if the server could not be reached. */
  async #fetch(method: string, path: string, body?: string): Promise<Response | null> {
    try {
      return await fetch(`${this.url}/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
        signal: AbortSignal.any([this.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
    } catch (error) {
      this.signal.throwIfAborted();
      if (error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError')) return null;
      throw error;
    }
  }

  async #read(response: Response, request: string): Promise<unknown> {
    const text = await response.text();
    if (!response.ok) throw new ApiError(response.status, `${request}: ${response.status} ${text.slice(0, 300)}`);
    return text === '' ? null : JSON.parse(text);
  }
}
