import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.js';
import { startServer, type RunningServer } from '../../src/server.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { createClient, type Client } from '../support/client.js';
import { KEY_A, PATIENT, testConfig, WORKER_TOKEN } from '../support/server.js';
import { until } from '../support/until.js';

/**
 * Counts statements and bytes of write-ahead log: figures that a busy machine does not change. It has its own
 * PostgreSQL, since nobody else may write to the log meanwhile.
 */
const SETTINGS = {
  fsync: 'off',
  // Images of whole pages depend on checkpoints, not on jobs.
  full_page_writes: 'off',
  autovacuum: 'off',
  shared_preload_libraries: 'pg_stat_statements',
};

/**
 * What is done once a minute may fall into any measurement, all of it at once: statements that ran a single time are
 * counted apart. The sweep may come again and again; on top of that, so many statements per second. The series and what
 * workers did, written every 15 seconds whatever happened, are not counted at all.
 */
export const ONCE_A_MINUTE = 24;
export const OTHERS = 6;
const IDLE_PER_SECOND = 2;
const PERIODIC = `(query ILIKE '%millrace.series%' OR query ILIKE '%millrace.workers%')`;

export const POOL_QUEUE = 'zebra';

export interface Cost {
  readonly secs: number;
  /** Those that ran more than once, without what the server would have done anyway. */
  readonly statements: number;
  /** How many ran a single time. */
  readonly once: number;
  readonly bytes: number;
  /** Statements by how often they ran, for whoever has to find out what changed. */
  readonly detail: string;
}

export interface Costs {
  readonly server: RunningServer;
  readonly a: Client;
  readonly worker: Client;
  readonly admin: pg.Client;
  readonly costOf: (work: () => Promise<void>) => Promise<Cost>;
  /** A request that creates something: its answer. */
  readonly post: (path: string, body: object) => Promise<any>;
  /** Creates so many jobs at once. */
  readonly batch: (count: number, queue: string) => Promise<any>;
  /** How many jobs have ended. */
  readonly ended: () => Promise<number>;
  readonly untilEnded: (n: number) => Promise<unknown>;
}

/** A job whose handler does nothing. */
export const job = (n: number, queue: string): object => ({
  task_name: 'nothing',
  payload: { n, s: 'abcdefgh' },
  config: { queue },
});

/** One after the other, by each of that many callers. */
export async function together(callers: number, calls: number, call: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < calls) await call(next++);
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

/** A service, for all tests of a file, of which it is known what it does. */
export async function useCosts(): Promise<Costs> {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  const silent = createLogger({ level: 'silent', format: 'json' });
  const embedded = await startEmbedded({ dir, log: silent, settings: SETTINGS });
  const admin = new pg.Client({ connectionString: embedded.url, application_name: 'test kit' });
  await admin.connect();
  await admin.query('CREATE EXTENSION pg_stat_statements');
  const config = testConfig(embedded.url, { workers: 10, defaultQueue: POOL_QUEUE });
  const server = await startServer(config, {
    logger: silent,
    handlers: { nothing: () => ({ ok: true }) },
    intervals: PATIENT,
  });
  afterAll(async () => {
    await server.stop();
    await admin.end();
    await embedded.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  const a = createClient(server.apiUrl!, KEY_A);
  const worker = createClient(server.apiUrl!, WORKER_TOKEN);
  async function costOf(work: () => Promise<void>): Promise<Cost> {
    await admin.query('SELECT pg_stat_statements_reset()');
    const { rows: before } = await admin.query<{ lsn: string }>('SELECT pg_current_wal_insert_lsn()::text AS lsn');
    const startedAt = performance.now();
    await work();
    const secs = (performance.now() - startedAt) / 1000;
    const { rows } = await admin.query<{ bytes: number; calls: { n: number; query: string }[] }>(
      `SELECT (pg_current_wal_insert_lsn() - $1::pg_lsn)::float8
                - (SELECT coalesce(sum(wal_bytes), 0) FROM pg_stat_statements WHERE ${PERIODIC})::float8 AS bytes,
              (SELECT coalesce(
                        json_agg(json_build_object('n', calls, 'query', left(query, 60)) ORDER BY calls DESC), '[]')
               FROM pg_stat_statements
               WHERE (query ILIKE '%millrace.%' OR query ILIKE 'begin%') AND NOT ${PERIODIC}) AS calls`,
      [before[0]!.lsn],
    );
    const { bytes, calls } = rows[0]!;
    const detail = calls.map(({ n, query }) => `${n} × ${query.replaceAll(/\s+/g, ' ')}`).join('\n');
    const all = calls.reduce((sum, { n }) => sum + n, 0);
    const once = calls.filter(({ n }) => n === 1).length;
    return { bytes, secs, statements: all - once - IDLE_PER_SECOND * secs, once, detail };
  }
  const post = async (path: string, body: object): Promise<any> => {
    const reply = await a.post(path, body);
    expect(reply.status, reply.text).toBe(201);
    return reply.body;
  };
  const batch = (count: number, queue: string): Promise<any> =>
    post('/api/v1/jobs/batch', { jobs: Array.from({ length: count }, (_, n) => job(n, queue)) });
  const ended = async (): Promise<number> => (await a.get('/api/v1/stats')).body.jobs_completed as number;
  const untilEnded = (n: number): Promise<unknown> =>
    until(async () => (await ended()) >= n, { what: `${n} jobs to end` });
  // The first job of a tenant registers it, and the first statement of a connection is prepared.
  await batch(1000, POOL_QUEUE);
  await untilEnded(1000);
  return { server, a, worker, admin, costOf, post, batch, ended, untilEnded };
}
