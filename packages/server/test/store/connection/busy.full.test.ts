import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Database } from '../../../src/store/connection/database.js';
import { DEADLINES } from '../../../src/store/connection/session.js';
import { createJob, deadLettersOf, leaseOne, newQueue } from '../../engine/kit.js';
import { cloneDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';

const AWAY = 'the database is out of reach';

describe('a statement that takes too long', () => {
  async function open(): Promise<{ database: TestDatabase; db: Database; messages: string[] }> {
    const database = await cloneDatabase();
    const messages: string[] = [];
    const logger = pino({}, { write: (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg) });
    const db = new Database({ url: database.url, maxConnections: 3, logger });
    onTestFinished(async () => {
      await db.close();
      await database.drop();
    });
    return { database, db, messages };
  }
  const backend = { name: 'backend', text: 'SELECT pg_backend_pid() AS pid', values: [] };

  it('is cancelled by PostgreSQL before its connection is given up', async () => {
    const { db } = await open();
    const setting = {
      name: 'timeout',
      text: `SELECT setting::int AS ms FROM pg_settings WHERE name = 'statement_timeout'`,
      values: [],
    };
    const [hot] = await db.run<{ ms: number }>(setting);
    const [planned] = await db.runPlanned<{ ms: number }>(setting);
    const [read] = await db.read<{ ms: number }>({ tenant: 't', statement: setting });
    const { hotTimeoutMs, hotMs, readTimeoutMs, readMs } = DEADLINES;
    expect([hot?.ms, planned?.ms, read?.ms]).toEqual([hotTimeoutMs, hotTimeoutMs, readTimeoutMs]);
    // Time for the cancellation to arrive, on a distant database too.
    expect(hotMs - hotTimeoutMs).toBeGreaterThanOrEqual(1_000);
    expect(readMs - readTimeoutMs).toBeGreaterThanOrEqual(1_000);
  });

  it('makes the service busy, not the database away, and keeps its connection', async () => {
    const { database, db, messages } = await open();
    // There is one connection for the queue, so the next statement meets this setting; only one that is to fail may.
    const [before] = await db.run<{ pid: number }>(backend);
    await db.run({ name: 'hurry', text: `SELECT set_config('statement_timeout', '20', false)`, values: [] });
    await expect(db.run({ name: 'slow', text: 'SELECT pg_sleep(60)', values: [] })).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the service is busy: the database did not finish this in time; try again shortly',
    });
    const there = 'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid = $1';
    expect(await database.query(there, [before!.pid])).toEqual([before]);
    expect(messages).toEqual(['the database is busy: a statement took or waited too long']);
  });
});

/** Holds what reads need until it is let go, on a connection of its own. */
async function lock(database: TestDatabase, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: database.url, application_name: 'test kit' });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return () => client.end();
}

const BLOCKED = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

it('slow reads of one tenant keep neither others nor the service waiting', async () => {
  const server = await startTestServer({ config: { mode: 'api' }, intervals: { deadlines: DEADLINES } });
  onTestFinished(() => server.stop());
  const { a, b, worker, database } = server;
  const unlock = await lock(database, 'millrace.workflows');
  // Each of them another question, so that none can share the answer of another.
  const slow = Array.from({ length: 130 }, (_, n) =>
    a.get(`/api/v1/workflows?include_total=true&created_after=2020-01-01T00:00:00.${100 + n}Z`),
  );
  await until(async () => (await database.query(BLOCKED)).length > 0, { what: 'a read to be blocked' });

  const queue = newQueue();
  const id = await createJob(b, queue, { config: { max_retries: 0 } });
  await leaseOne(worker, queue, { lease_secs: 1 });
  for (const path of ['/api/v1/jobs?include_total=true', '/api/v1/dlq', '/api/v1/queues'])
    expect((await b.get(path)).status).toBe(200);
  expect((await server.nobody.get('/ready')).status).toBe(200);
  await until(async () => (await deadLettersOf(b, id)).length === 1, { what: 'the janitor' });

  await unlock();
  const replies = await Promise.all(slow);
  const refused = replies.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, body, headers } of refused) {
    expect({ status, code: body.code as string }).toEqual({ status: 503, code: 'unavailable' });
    expect(body.error).toContain('the service is busy');
    expect(headers.get('retry-after')).not.toBeNull();
  }
  expect(server.log().map(({ msg }) => msg)).not.toContain(AWAY);
});
