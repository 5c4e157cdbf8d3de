import { connect, type Socket } from 'node:net';
import type { ChaosClient } from '../history/client.js';
import { TENANT_KEY, type ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

const JOBS = '/api/v1/jobs';
const LIST = `${JOBS}?limit=100`;

/**
 * Follows the cursors to the end; resolves to the ids, and how many pages it took. The first page has no cursor, so it
 * is not cut short, however large; it asks for one job.
 */
export async function listByCursor(
  stage: Stage,
  client: ChaosClient,
): Promise<{ readonly ids: ReadonlySet<string>; readonly pages: number }> {
  const ids = new Set<string>();
  let path = `${JOBS}?limit=1`;
  for (let pages = 1; ; pages++) {
    const { status, body } = await client.send('other', 'GET', path);
    stage.expect(status === 200, `a page was answered ${status ?? 'not at all'}`);
    for (const { id } of (body.jobs ?? []) as readonly { readonly id: string }[]) ids.add(id);
    if (status !== 200 || body.has_more !== true) return { ids, pages };
    path = `${LIST}&cursor=${encodeURIComponent(String(body.next_cursor))}`;
  }
}

/** One page of everything, which may be longer than any string; resolves to its bytes. */
export async function listByOffset(stage: Stage, server: ServerProcess): Promise<number> {
  const response = await fetch(new URL(`${LIST}&offset=0`, server.url), {
    headers: { authorization: `Bearer ${TENANT_KEY}` },
  });
  stage.expect(response.status === 200, `a list by offset was answered ${response.status}`);
  let bytes = 0;
  let last: number | undefined;
  try {
    for await (const chunk of response.body ?? []) {
      const part = chunk as Uint8Array;
      bytes += part.length;
      last = part.at(-1) ?? last;
    }
  } catch (error) {
    stage.violation(`a list by offset broke off after ${bytes} bytes: ${(error as Error).message}`);
  }
  stage.expect(last === '}'.charCodeAt(0), 'a list by offset did not come to its end');
  return bytes;
}

/** Clients that ask for everything and read nothing. Call the result to hang up. */
export function listWithoutReading(server: ServerProcess, clients: number, token = TENANT_KEY): () => void {
  const request = `GET ${LIST}&offset=0 HTTP/1.1\r\nHost: chaos\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const sockets = Array.from({ length: clients }, (): Socket => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(request);
    return socket;
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}
