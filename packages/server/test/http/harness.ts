import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import { pino, type Logger } from 'pino';
import { afterAll } from 'vitest';
import type { Stats } from '@millrace/contract';
import type { DeadLetterRecord, JobRecord, JobSpec } from '../../src/domain/records.js';
import type { Created, Engine, JobNews, ListQuery, Page } from '../../src/engine/api.js';
import { createApp, type AppDeps } from '../../src/http/app.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { createClient, type Client } from '../support/client.js';

/** The HTTP side alone, over an engine that only records its calls. */

export const KEY_A = 'key-of-tenant-a';
export const KEY_B = 'key-of-tenant-b';
export const READ_KEY_A = 'read-key-of-a';
export const WORKER_TOKEN = 'token-of-the-workers';
export const ADMIN_TOKEN = 'token-of-the-operator';
export const JWT_SECRET = 'a-secret-for-hs256-tokens';
export const JOB_ID = '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10';
export const LEASE_TOKEN = '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10';

/** What the fake engine created. */
export const CREATED: Created = { id: JOB_ID, replayed: false };

export type Call = readonly [method: string, ...args: unknown[]];

export interface FakeEngine extends Engine {
  readonly calls: Call[];
  /** The arguments of the last call of a method such as `jobs.create`. */
  readonly last: (method: string) => readonly unknown[];
}

export function jobRecord(fields: Partial<JobRecord> = {}): JobRecord {
  return {
    id: JOB_ID,
    tenant_id: 'tenant-a',
    queue_name: 'default',
    task_name: 'echo',
    payload: '{"n":1}',
    config: DEFAULT_JOB_CONFIG,
    metadata: '{}',
    status: 'pending',
    result: null,
    error_message: null,
    retry_count: 0,
    delivery_count: 0,
    created_at: '2026-01-31T09:00:00.123456Z',
    scheduled_at: '2026-01-31T09:00:00.123456Z',
    started_at: null,
    completed_at: null,
    next_retry_at: null,
    idempotency_key: null,
    workflow_id: null,
    workflow_step_id: null,
    worker_id: null,
    lease_expires_at: null,
    progress: null,
    ...fields,
  };
}

export function deadLetterRecord(fields: Partial<DeadLetterRecord> = {}): DeadLetterRecord {
  return {
    id: 17,
    tenant_id: 'tenant-a',
    job_id: JOB_ID,
    queue_name: 'default',
    task_name: 'echo',
    reason: 'non_retryable',
    error_message: 'no',
    created_at: '2026-01-31T09:00:00.123456Z',
    replayed_at: null,
    replay_job_id: null,
    payload_bytes: 7,
    retry_count: 0,
    fingerprint: '6f1c2ab09d3e4f57',
    ...fields,
  };
}

export const EMPTY_PAGE: Page<never> = {
  items: [],
  rest: null,
  nextCursor: null,
  prevCursor: null,
  searchedTo: null,
  total: null,
};

export const NO_STATS: Stats = {
  jobs_created: 0,
  jobs_completed: 0,
  jobs_failed: 0,
  jobs_retried: 0,
  jobs_dead_lettered: 0,
  jobs_cancelled: 0,
  workflows_created: 0,
  workflows_completed: 0,
  workflows_failed: 0,
};

/** The parts of the engine that these tests fake; the routes of the others are tested on the real one. */
type Faked = Pick<Engine, 'jobs' | 'worker' | 'deadLetters' | 'system'>;
type Overrides = { readonly [K in keyof Faked]?: Partial<Faked[K]> };

export function fakeEngine(overrides: Overrides = {}): FakeEngine {
  const calls: Call[] = [];
  const engine: Faked = {
    jobs: {
      create: async () => CREATED,
      createBatch: async (_tenant: string, specs: readonly JobSpec[]) => {
        return { ids: specs.map(() => JOB_ID), replayed: false, mismatch: false, existing: [] };
      },
      createItems: async (_tenant, items) => ({
        ids: items.map(() => JOB_ID),
        replayed: [],
        mismatch: false,
        existing: [],
      }),
      rerun: async () => CREATED,
      get: async () => jobRecord(),
      list: async (_tenant: string, _query: ListQuery) => EMPTY_PAGE,
      summaries: async () => EMPTY_PAGE,
      cancel: async () => undefined,
      watch: async () => states(jobRecord({ status: 'completed' })),
      wait: async () => jobRecord(),
      waitForMany: async () => ({ ended: [], pending: [], missing: [] }),
      why: async () => ({ reason: 'running', message: 'It runs.' }),
      attempts: async () => ({ first_due_at: '2026-01-31T09:12:00.123456Z', attempts: [], omitted: 0 }),
      logs: async () => ({ lines: [], omitted: 0, next: null }),
      ended: async () => ({ jobs: [], next: '', more: false, missed: false }),
      runNow: async () => undefined,
      queues: async () => ({ queues: [], nextCursor: null }),
      ...overrides.jobs,
    },
    worker: {
      lease: async () => [],
      heartbeat: async () => 'running',
      complete: async () => undefined,
      heartbeats: async (beats) => beats.map(() => 'running'),
      fail: async () => undefined,
      release: async () => undefined,
      checkpoint: async (_id, _token, _name, value) => ({ value, isNew: true }),
      suspend: async () => undefined,
      children: async (_id, _token, children) => children.map(() => JOB_ID),
      report: async (reports) => reports.map(() => null),
      queuesOf: async () => new Map(),
      ...overrides.worker,
    },
    deadLetters: {
      get: async () => deadLetterRecord(),
      list: async () => EMPTY_PAGE,
      groups: async () => ({ groups: [], nextCursor: null, searchedTo: null }),
      replay: async () => CREATED,
      ...overrides.deadLetters,
    },
    system: {
      ready: async () => true,
      tasks: async () => ['echo', 'fail', 'log', 'sleep'],
      unregistered: async () => [],
      now: async () => '2026-01-31T09:00:00.123456Z',
      stats: () => NO_STATS,
      ...overrides.system,
    },
  };
  return {
    ...(Object.fromEntries(
      Object.entries(engine).map(([name, part]) => [name, recorded(name, part as object, calls)]),
    ) as unknown as Engine),
    calls,
    last: (method) => calls.findLast(([name]) => name === method)?.slice(1) ?? [],
  };
}

function recorded(name: string, part: object, calls: Call[]): object {
  return Object.fromEntries(
    Object.entries(part).map(([method, body]) => [
      method,
      (...args: unknown[]) => {
        calls.push([`${name}.${method}`, ...args]);
        return (body as (...args: unknown[]) => unknown)(...args);
      },
    ]),
  );
}

export async function* states(...records: JobRecord[]): AsyncGenerator<JobNews> {
  for (const job of records) yield { kind: 'status', job };
}

export interface TestApp {
  readonly app: FastifyInstance;
  readonly engine: FakeEngine;
  readonly metrics: Metrics;
  readonly url: string;
  readonly port: number;
  readonly a: Client;
  readonly worker: Client;
  readonly nobody: Client;
  readonly as: (token: string | null) => Client;
  readonly close: () => Promise<void>;
}

export interface TestAppOptions extends Partial<Omit<AppDeps, 'engine'>> {
  readonly engine?: Overrides;
}

export async function startApp({ engine: overrides, ...options }: TestAppOptions = {}): Promise<TestApp> {
  const engine = fakeEngine(overrides);
  const metrics = options.metrics ?? new Metrics();
  const app = createApp({
    engine,
    metrics,
    auth: {
      dev: false,
      apiKeys: new Map([
        [KEY_A, 'tenant-a'],
        [KEY_B, 'tenant-b'],
      ]),
      readKeys: new Map([[READ_KEY_A, 'tenant-a']]),
      jwtSecrets: [JWT_SECRET],
      workerTokens: new Map([[WORKER_TOKEN, null]]),
      adminTokens: new Map([[ADMIN_TOKEN, null]]),
    },
    defaultQueue: 'default',
    corsOrigins: null,
    maxBodyBytes: 16 * 1024 * 1024,
    maxPayloadBytes: 4 * 1024 * 1024,
    maxInFlight: 1024,
    maxConnections: 1000,
    logger: silentLogger(),
    version: '0.2.0-test',
    isShuttingDown: () => false,
    ...options,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const as = (token: string | null): Client => createClient(url, token);
  return {
    app,
    engine,
    metrics,
    url,
    port: (app.server.address() as AddressInfo).port,
    a: as(KEY_A),
    worker: as(WORKER_TOKEN),
    nobody: as(null),
    as,
    close: async () => {
      await app.close();
      metrics.close();
    },
  };
}

/** One application for a whole test file. */
export async function useApp(options?: TestAppOptions): Promise<TestApp> {
  const app = await startApp(options);
  afterAll(() => app.close());
  return app;
}

export const silentLogger = (): Logger => pino({ level: 'silent' });

/** Sends bytes as they are and returns everything received until the server closes the connection. */
export function exchange(port: number, request: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (answer += chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

/** The body of a raw HTTP answer, parsed. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export const bodyOf = (answer: string): any => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
