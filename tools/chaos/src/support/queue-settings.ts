import type { ServerProcess } from '../stage/server.js';

const ADMIN_TOKEN = 'chaos-admin-token';

/** For servers on which an operator sets something. */
export const WITH_OPERATOR = { MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN } as const;

/** As an operator; resolves to whether that was acknowledged. */
export const setQueue = (server: ServerProcess, queue: string, settings: object): Promise<boolean> =>
  asOperator(server, 'PUT', queue, settings);

export const pauseQueue = (server: ServerProcess, queue: string, what: 'pause' | 'resume'): Promise<boolean> =>
  asOperator(server, 'POST', `${queue}/${what}`, {});

async function asOperator(server: ServerProcess, method: string, path: string, body: object): Promise<boolean> {
  try {
    const reply = await fetch(`${server.url}/api/v1/admin/queues/${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    return reply.ok;
  } catch {
    return false;
  }
}
