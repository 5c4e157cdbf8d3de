import { monotonicMicros } from '@millrace/tools-shared';
import { serveCalls } from '../env/child.js';
import { BATCH, JOB, JOB_TEXT, PAYLOAD, TASK, TENANT_KEY } from '../work.js';
import { measureCount, measureRate, type Rate } from './closed-loop.js';
import { keyedRequests, post } from './connection.js';
import { workWithFetch } from './fetch-workers.js';
import { sendAtRate, sendSparsely } from './open-loop.js';
import { timePages } from './pages.js';
import { timeReads } from './reads.js';
import { watchJobs } from './streams.js';
import { tokensOf } from './tokens.js';
import { workWithSdk } from './sdk-workers.js';
import { workRemotely } from './workers.js';

/** The load generator, in a process of its own. */
const SINGLE = post('/api/v1/jobs', TENANT_KEY, JOB_TEXT);
const WHOLE_BATCH = post('/api/v1/jobs/batch', TENANT_KEY, JSON.stringify({ jobs: Array(BATCH).fill(JOB) }));
const WORKFLOW = post(
  '/api/v1/workflows',
  TENANT_KEY,
  JSON.stringify({
    name: 'three steps',
    steps: [
      { name: 'first', task_name: TASK, payload: PAYLOAD },
      { name: 'second', task_name: TASK, payload: PAYLOAD, depends_on: ['first'] },
      { name: 'third', task_name: TASK, payload: PAYLOAD, depends_on: ['second'] },
    ],
  }),
);
/** A job that carries the time of its request, so that its handler knows how long it took to start. */
const stamped = (micros: number): Buffer =>
  post('/api/v1/jobs', TENANT_KEY, `{"task_name":"stamp","payload":{"at":${micros}}}`);

const REQUESTS = {
  single: () => SINGLE,
  batch: () => WHOLE_BATCH,
  workflow: () => WORKFLOW,
  keyed: keyedRequests('/api/v1/jobs', TENANT_KEY, JOB_TEXT),
  stamped: () => stamped(monotonicMicros()),
} as const;

interface Target {
  readonly port: number;
  readonly connections: number;
  readonly what: keyof typeof REQUESTS;
}

interface TenantsTarget {
  readonly port: number;
  readonly connections: number;
  readonly tenants: number;
  readonly warmupMs: number;
  readonly windowMs: number;
}

const loop = ({ port, connections, what }: Target) => ({ port, connections, request: REQUESTS[what], status: 201 });

const methods = {
  rate: ({ warmupMs, windowMs, ...target }: Target & { warmupMs: number; windowMs: number }): Promise<Rate> =>
    measureRate(loop(target), warmupMs, windowMs),

  /** Single creates by this many tenants in turn, each with a token of its own. */
  rateOfTenants: ({ port, connections, tenants, warmupMs, windowMs }: TenantsTarget): Promise<Rate> => {
    const requests = tokensOf(tenants).map((token) => post('/api/v1/jobs', token, JOB_TEXT));
    let sent = 0;
    const request = (): Buffer => requests[sent++ % tenants] ?? SINGLE;
    return measureRate({ port, connections, request, status: 201 }, warmupMs, windowMs);
  },

  /** Resolves to milliseconds. */
  count: ({ count, ...target }: Target & { count: number }): Promise<number> => measureCount(loop(target), count),

  stampSparsely: ({ port, count }: { port: number; count: number }): Promise<void> =>
    sendSparsely({ port, request: stamped, status: 201 }, count, { min: 5, max: 25 }),

  /** Resolves to the number of requests sent. */
  stampAtRate: (at: { port: number; connections: number; perSecond: number; durationMs: number }): Promise<number> =>
    sendAtRate({ ...at, request: stamped, status: 201 }),

  work: workRemotely,
  workWithFetch,
  workWithSdk,
  watch: watchJobs,
  pages: timePages,
  reads: timeReads,
};

export type LoadMethods = typeof methods;

serveCalls(methods);
