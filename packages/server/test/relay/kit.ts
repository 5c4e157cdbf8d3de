import pg from 'pg';
import { afterAll } from 'vitest';
import { Relay, type RelayEvents } from '../../src/relay/relay.js';
import { installOutbox } from '../../src/store/outbox/installation.js';
import { createLogger } from '../../src/telemetry/logger.js';
import type { Client } from '../support/client.js';
import { emptyDatabase, type TestDatabase } from '../support/database.js';
import { KEY_A } from '../support/server.js';
import { until } from '../support/until.js';

export const NOBODY = { app: [], relay: [] };

/** The database of an application, with an outbox. */
export async function applicationDatabase(): Promise<TestDatabase> {
  const database = await emptyDatabase();
  await installOutbox(database.url, NOBODY);
  return database;
}

/** The same for a test file: dropped after its last test. */
export async function useApplicationDatabase(): Promise<TestDatabase> {
  const database = await applicationDatabase();
  afterAll(() => database.drop());
  return database;
}

/** A session of the application, for transactions. */
export async function session(database: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  return client;
}

export interface TestRelay {
  readonly relay: Relay;
  readonly counts: { relayed: number; refused: number };
  log(): readonly Record<string, unknown>[];
  stop(): Promise<void>;
}

export async function startTestRelay(from: string, url: string, token = KEY_A): Promise<TestRelay> {
  const lines: string[] = [];
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    secrets: [token],
    destination: { write: (line) => void lines.push(line) },
  });
  const counts = { relayed: 0, refused: 0 };
  const events: RelayEvents = { relayed: (n) => (counts.relayed += n), refused: () => (counts.refused += 1) };
  const relay = new Relay({ from, service: { url, token }, logger, events });
  await relay.start();
  return {
    relay,
    counts,
    log: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    stop: () => relay.stop(),
  };
}

/** Until the outbox is empty: everything was delivered or refused. */
export const drained = (database: TestDatabase): Promise<unknown> =>
  until(async () => (await database.query('SELECT FROM millrace_outbox.entries LIMIT 1')).length === 0, {
    what: 'the outbox to be empty',
  });

export async function jobsOf(client: Client, queue: string): Promise<any[]> {
  const jobs: any[] = [];
  for (let cursor = ''; ;) {
    const { body } = await client.get(`/api/v1/jobs?queue=${queue}&limit=100&order_by=created_at ASC${cursor}`);
    jobs.push(...(body.jobs as any[]));
    if (!body.has_more) return jobs;
    cursor = `&cursor=${encodeURIComponent(body.next_cursor as string)}`;
  }
}

/** Ways to put something into the outbox of a database. */
export function enqueuing(database: TestDatabase) {
  return {
    put: (call: string, values: readonly unknown[] = []): Promise<{ id: string }[]> =>
      database.query(`SELECT millrace_outbox.${call} AS id`, values),
    /** In one transaction, with payloads that are numbered. */
    many: (queue: string, count: number, from = 1): Promise<unknown> =>
      database.query(
        `SELECT millrace_outbox.enqueue('t', json_build_object('n', n), queue => $1)
         FROM generate_series($2::int, $3::int) n`,
        [queue, from, from + count - 1],
      ),
  };
}

/** In their own order: entries that are sent in several calls may arrive in any. */
export const payloadNumbers = (jobs: readonly any[]): number[] =>
  jobs.map((job) => job.payload.n as number).sort((a, b) => a - b);
export const upTo = (n: number): number[] => Array.from({ length: n }, (_, index) => index + 1);
