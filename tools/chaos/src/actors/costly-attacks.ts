import type { AttackOrder, CostlyAttack } from '../support/attack.js';
import { get, HEAD, MIB, type Attack, type Shot } from './requests.js';

/**
 * Requests of one kind that cost a server far more than they look. Each of these has ended a process, or kept all other
 * tenants waiting for seconds, before it was bounded.
 */
export function costlyAttack(order: AttackOrder, { kind, count, job }: CostlyAttack): Attack {
  const all = { name: kind, everyMs: 100, atOnce: count, most: count, harmless: () => get(order.tenantKey, '/health') };
  switch (kind) {
    case 'chunked bodies':
      return { ...all, ownConnections: true, hostile: () => chunked(order) };
    case 'unread streams':
      return { ...all, ownConnections: true, hostile: () => ({ ...stream(order, job), unread: true, held: true }) };
    case 'streams':
      return { ...all, ownConnections: true, hostile: () => ({ ...stream(order, job), held: true }) };
  }
}

const BODY_MIB = 15;
const MEBIBYTE = Buffer.from(`${MIB.toString(16)}\r\n${'x'.repeat(MIB)}\r\n`);

/** Nobody says how long it is, and it never ends. */
function chunked({ tenantKey }: AttackOrder): Shot {
  const begun = '{"jobs":[{"task_name":"t","payload":{"s":"';
  const head =
    `POST /api/v1/jobs/batch HTTP/1.1\r\n${HEAD}Authorization: Bearer ${tenantKey}\r\n` +
    `Transfer-Encoding: chunked\r\n\r\n${begun.length.toString(16)}\r\n${begun}\r\n`;
  return { parts: [head, ...Array<Buffer>(BODY_MIB).fill(MEBIBYTE)], held: true };
}

const stream = ({ tenantKey }: AttackOrder, job: string): Shot => get(tenantKey, `/api/v1/jobs/${job}/events`);
