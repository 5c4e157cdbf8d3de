import type { AttackOrder } from '../support/attack.js';
import { costlyAttack } from './costly-attacks.js';
import { get, HEAD, MIB, post, type Attack, type Shot } from './requests.js';

/** Just below what a server accepts by default, each quote being two bytes of JSON. */
const QUOTES = '"'.repeat(2 * MIB - 64);
/** A result is in its context twice. */
const RESULT = 'x'.repeat(2 * MIB - 1024);
const DEPENDENTS = 300;
const PRIORITIES = 100_000;
const BATCH = 1_000;
/** Not all of the 10,000 connections that a server accepts by default: the other tenant needs some. */
const POLLED_QUEUES = 9_000;
const POLLS_AT_ONCE = 50;

/** Each of these was able to bring a server, or the jobs of everybody else, to a halt before there were bounds. */
export function attacksOf(order: AttackOrder): readonly Attack[] {
  if (order.costly !== undefined) return [costlyAttack(order, order.costly)];
  return [
    largeJobs(order),
    wideWorkflows(order),
    unreadLists(order),
    totals(order),
    priorities(order),
    polls(order),
    oddRequests(order),
  ];
}

function largeJobs(order: AttackOrder): Attack {
  const queue = 'large';
  const create = post(order.tenantKey, '/api/v1/jobs', { task_name: 'x', payload: { QUOTES }, config: { queue } });
  const lease = post(order.workerToken, `/api/v1/queues/${queue}/lease`, { max_jobs: 100, lease_secs: 1 });
  return {
    name: 'large jobs',
    everyMs: 500,
    hostile: (n) => (n % 2 === 0 ? create : lease),
    harmless: () => smallJob(order),
  };
}

function wideWorkflows(order: AttackOrder): Attack {
  const width = Math.max(10, Math.round(DEPENDENTS * order.share));
  const dependents = Array.from({ length: width }, (_, n) => ({
    name: `d${n}`,
    task_name: 'sleep',
    payload: { duration_ms: 0 },
    depends_on: ['root'],
  }));
  const steps = [{ name: 'root', task_name: 'echo', payload: { RESULT } }, ...dependents];
  const workflow = post(order.tenantKey, '/api/v1/workflows', { name: 'wide', steps });
  const small = post(order.tenantKey, '/api/v1/workflows', { name: 'one', steps: [{ name: 'a', task_name: 'echo' }] });
  return { name: 'wide workflows', everyMs: 15_000, hostile: () => workflow, harmless: () => small };
}

function unreadLists({ tenantKey }: AttackOrder): Attack {
  return {
    name: 'unread lists',
    everyMs: 500,
    ownConnections: true,
    hostile: (n) => ({
      ...get(tenantKey, `/api/v1/jobs?limit=100${n % 2 === 0 ? '&offset=0' : ''}`),
      unread: true,
      held: true,
    }),
    harmless: () => get(tenantKey, '/api/v1/jobs?limit=1'),
  };
}

function totals({ tenantKey }: AttackOrder): Attack {
  return {
    name: 'totals',
    everyMs: 50,
    hostile: (n) => get(tenantKey, n % 4 === 0 ? '/api/v1/queues' : '/api/v1/jobs?include_total=true&limit=1'),
    harmless: () => get(tenantKey, '/api/v1/jobs?limit=1'),
  };
}

function priorities(order: AttackOrder): Attack {
  const run_at = new Date(Date.now() + 86_400_000).toISOString();
  const batch = (first: number): Shot => {
    const jobs = Array.from({ length: BATCH }, (_, n) => {
      const priority = (first + n) * (n % 2 === 0 ? 1 : -1);
      return { task_name: 'x', run_at, config: { queue: order.queue, priority } };
    });
    return post(order.tenantKey, '/api/v1/jobs/batch', { jobs });
  };
  return {
    name: 'priorities',
    everyMs: 250,
    most: Math.ceil((PRIORITIES * order.share) / BATCH),
    hostile: (n) => batch(1 + n * BATCH),
    harmless: () => smallJob(order),
  };
}

function polls({ workerToken, share }: AttackOrder): Attack {
  const poll = (queue: string, wait_secs: number): Shot =>
    post(workerToken, `/api/v1/queues/${queue}/lease`, { max_jobs: 1, lease_secs: 30, wait_secs });
  return {
    name: 'polls',
    everyMs: 100,
    ownConnections: true,
    atOnce: Math.max(1, Math.round(POLLS_AT_ONCE * share)),
    most: Math.round(POLLED_QUEUES * share),
    hostile: (n) => ({ ...poll(`idle-${n}`, 30), held: true }),
    harmless: () => poll('idle', 0),
  };
}

function oddRequests({ tenantKey }: AttackOrder): Attack {
  const bearer = `Authorization: Bearer ${tenantKey}\r\n`;
  const megabytes = Buffer.alloc(4 * MIB, 'x');
  const odd: readonly Shot[] = [
    // Uploads that are refused before they have begun, and go on.
    { parts: [`POST /api/v1/jobs HTTP/1.1\r\n${HEAD}Content-Length: ${16 * MIB}\r\n\r\n`, megabytes] },
    { parts: [`POST /api/v1/jobs HTTP/1.1\r\n${HEAD}${bearer}Content-Length: ${64 * MIB}\r\n\r\n`, megabytes] },
    { parts: [`POST /nowhere HTTP/1.1\r\n${HEAD}${bearer}Content-Length: ${8 * MIB}\r\n\r\n`, megabytes] },
    { parts: [`POST /api/v1/jobs HTTP/1.1\r\n${HEAD}Expect: 100-continue\r\nContent-Length: ${8 * MIB}\r\n\r\n`] },
    // Requests that never end.
    { parts: [`POST /api/v1/jobs HTTP/1.1\r\n${HEAD}${bearer}Content-Length: 100\r\n\r\n{`] },
    { parts: ['GET /api/v1/jobs HTTP/1.1\r\nHost: cha'] },
    { parts: [`POST /api/v1/jobs HTTP/1.1\r\n${HEAD}${bearer}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":`] },
    // What no parser should trip over.
    { parts: [`GET /api/v1/jobs/%ff%fe HTTP/1.1\r\n${HEAD}${bearer}\r\n`] },
    { parts: [`GET /api/v1/jobs?cursor=%c3%28&limit=1e9 HTTP/1.1\r\n${HEAD}${bearer}\r\n`] },
    { parts: [`GET /api/v1/jobs HTTP/1.1\r\n${HEAD}${bearer}${bearer}\r\n`] },
    { parts: [`GET /api/v1/jobs HTTP/1.1\r\n${HEAD}X: ${'x'.repeat(64 * 1024)}\r\n\r\n`] },
    post(tenantKey, '/api/v1/jobs', `${'['.repeat(100_000)}${']'.repeat(100_000)}`),
    post(tenantKey, '/api/v1/jobs', '{"task_name":"x","payload":{"n":1e400,"__proto__":{"a":1}}}'),
    { parts: [Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x00])] },
  ];
  return {
    name: 'odd requests',
    everyMs: 100,
    ownConnections: true,
    hostile: (n) => odd[n % odd.length]!,
    harmless: () => get(tenantKey, '/api/v1/tasks'),
  };
}

const smallJob = ({ tenantKey }: AttackOrder): Shot =>
  post(tenantKey, '/api/v1/jobs', { task_name: 'x', config: { queue: 'harmless' } });
