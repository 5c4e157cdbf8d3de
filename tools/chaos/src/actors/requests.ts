/** One request as bytes, as no decent client would send it, and how often it is sent. */

/** One request, in pieces of bytes. */
export interface Shot {
  readonly parts: readonly (string | Buffer)[];
  /** Its answer is never read. For this and the next it needs a connection of its own. */
  readonly unread?: boolean;
  /** Its connection stays open until the end, whatever is answered. */
  readonly held?: boolean;
}

export interface Attack {
  readonly name: string;
  readonly everyMs: number;
  /** How many go off together; one unless it says otherwise. */
  readonly atOnce?: number;
  readonly most?: number;
  /** Each request comes on a connection of its own. */
  readonly ownConnections?: true;
  readonly hostile: (n: number) => Shot;
  /** A request of the same kind that asks for little. */
  readonly harmless: (n: number) => Shot;
}

export const MIB = 1024 * 1024;
export const HEAD = 'Host: chaos\r\nContent-Type: application/json\r\n';

export const get = (token: string, path: string): Shot => ({
  parts: [`GET ${path} HTTP/1.1\r\nHost: chaos\r\nAuthorization: Bearer ${token}\r\n\r\n`],
});

export function post(token: string, path: string, body: object | string): Shot {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const head =
    `POST ${path} HTTP/1.1\r\n${HEAD}Authorization: Bearer ${token}\r\n` + `Content-Length: ${bytes.length}\r\n\r\n`;
  return { parts: [head, bytes] };
}
