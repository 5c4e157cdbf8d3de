import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installOutbox } from '@millrace/server';
import pg from 'pg';
import type { Cluster } from '../stage/cluster.js';
import type { Database } from '../stage/database.js';
import { ManagedProcess } from '../stage/processes.js';
import { TENANT_KEY } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

/**
 * An application with an outbox: writers that place orders and enqueue a job for each in one transaction, of which some
 * roll back, and the relays that take the jobs to the service. The table of orders says what was committed, also where
 * the answer to a COMMIT was lost.
 */
export interface Application {
  readonly database: Database;
  /** A relay to the service at this URL. It comes back after a kill, as it would under a service manager. */
  relay(url: string): Relay;
  stopWriting(): Promise<void>;
  /** Waits until nothing is left in the outbox, and compares: one job per order that was committed, and no other. */
  settle(service: Database): Promise<void>;
  close(): Promise<void>;
}

export interface Relay {
  killAndRestart(): Promise<void>;
}

const QUEUE = 'outbox';
const WRITERS = 4;
const ROLLED_BACK = 0.25;

export async function startApplication(stage: Stage, cluster: Cluster): Promise<Application> {
  const database = await cluster.createDatabase({ empty: true });
  await installOutbox(database.url, { app: [], relay: [] });
  await database.query('CREATE TABLE orders (n int PRIMARY KEY)');
  const writing = new AbortController();
  let orders = 0;
  const writers = Array.from({ length: WRITERS }, () => write(stage, database.url, writing.signal, () => ++orders));
  const relays: ManagedProcess[] = [];
  const stopWriting = async (): Promise<void> => {
    writing.abort();
    await Promise.all(writers);
  };
  return {
    database,
    relay: (url) => startRelay(stage, database, url, relays),
    stopWriting,
    settle: async (service) => {
      await drained(stage, database);
      await compare(stage, database, service);
    },
    close: async () => {
      await stopWriting();
      await Promise.all(relays.filter(({ isAlive }) => isAlive).map((process) => process.kill()));
    },
  };
}

/** Transactions, one after another, until told to stop. A broken connection is replaced. */
async function write(stage: Stage, url: string, signal: AbortSignal, next: () => number): Promise<void> {
  while (!signal.aborted) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      while (!signal.aborted) {
        await placeOrder(client, next(), stage.random.chance(ROLLED_BACK));
        await sleep(stage.random.between(0, 5));
      }
    } catch {
      await sleep(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

async function placeOrder(client: pg.Client, n: number, rollsBack: boolean): Promise<void> {
  await client.query('BEGIN');
  await client.query('INSERT INTO orders (n) VALUES ($1)', [n]);
  await client.query(`SELECT millrace_outbox.enqueue('receipt', json_build_object('n', $1::int), queue => $2)`, [
    n,
    QUEUE,
  ]);
  await client.query(rollsBack ? 'ROLLBACK' : 'COMMIT');
}

function startRelay(stage: Stage, database: Database, url: string, all: ManagedProcess[]): Relay {
  const start = (): ManagedProcess => {
    const name = `relay-${all.length + 1}`;
    const process = new ManagedProcess(
      {
        name,
        script: stage.millrace,
        args: ['relay', '--host=127.0.0.1', '--metrics-port=0', '--log-format=json'],
        env: { MILLRACE_OUTBOX_URL: database.url, MILLRACE_URL: url, MILLRACE_TOKEN: TENANT_KEY },
        logFile: join(stage.folder('relays'), `${name}.log`),
      },
      (message) => stage.violation(message),
    );
    all.push(process);
    return process;
  };
  let current = start();
  return {
    killAndRestart: async () => {
      await current.kill();
      current = start();
    },
  };
}

/**
 * What a killed relay held is free at once, instead of after half a minute. A claim that a relay is ending meanwhile is
 * left to it: to wait for one while holding others would be a deadlock.
 */
const SET_BACK = `
  UPDATE millrace_outbox.claims SET taken_at = now() - interval '1 minute' WHERE id = ANY (ARRAY(
    SELECT id FROM millrace_outbox.claims WHERE taken_at < now() - interval '5 seconds' FOR UPDATE SKIP LOCKED
  ))`;

async function drained(stage: Stage, database: Database): Promise<void> {
  const probe = async (): Promise<true | string> => {
    await database.query(SET_BACK);
    const left = await database.count('millrace_outbox.entries');
    return left === 0 || `${left} entries left`;
  };
  await stage.until(probe, { what: 'the outbox to be empty', withinMs: 120_000, everyMs: 200 });
}

async function compare(stage: Stage, database: Database, service: Database): Promise<void> {
  const committed = new Set((await database.query<{ n: number }>('SELECT n FROM orders')).map(({ n }) => n));
  const jobs = await service.query<{ n: number; jobs: number }>(
    `SELECT (payload ->> 'n')::int AS n, count(*)::int AS jobs FROM millrace.jobs WHERE queue = $1 GROUP BY 1`,
    [QUEUE],
  );
  const found = new Map(jobs.map(({ n, jobs: count }) => [n, count]));
  for (const n of committed) if (!found.has(n)) stage.violation(`order ${n} was committed and has no job`);
  for (const [n, count] of found) {
    if (!committed.has(n)) stage.violation(`order ${n} was rolled back and has a job`);
    if (count > 1) stage.violation(`order ${n} has ${count} jobs`);
  }
  const refused = await database.count('millrace_outbox.refused');
  stage.expect(refused === 0, `${refused} entries were refused`);
  stage.note(`${committed.size} orders were committed`);
}
