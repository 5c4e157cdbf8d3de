import type { ServerProcess } from '../stage/server.js';

const ADMIN_TOKEN = 'chaos-admin-token';

/** For servers on which an operator sets something. */
export const WITH_OPERATOR = { MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN } as const;

/** As an operator; resolves to whether that was acknowledged. */
export async function setQueue(server: ServerProcess, queue: string, settings: object): Promise<boolean> {
  try {
    const reply = await fetch(`${server.url}/api/v1/admin/queues/${queue}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(settings),
      signal: AbortSignal.timeout(10_000),
    });
    return reply.status === 200;
  } catch {
    return false;
  }
}
