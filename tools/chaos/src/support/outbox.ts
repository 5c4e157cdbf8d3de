import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installOutbox } from '@millrace/server';
import pg from 'pg';
import type { Cluster } from '../stage/cluster.js';
import type { Database } from '../stage/database.js';
import { ManagedProcess } from '../stage/processes.js';
import { TENANT_KEY } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { compareOrders, kindOf, placeOrder } from './orders.js';

/**
 * An application with an outbox: writers that place orders, each with a job or a workflow in one transaction, of which
 * some roll back, and the relays that take those to the service. The table of orders says what was committed, also
 * where the answer to a COMMIT was lost.
 */
export interface Application {
  readonly database: Database;
  /** A relay to the service at this URL. It comes back after a kill, as it would under a service manager. */
  relay(url: string): Relay;
  stopWriting(): Promise<void>;
  /** Waits until the service has got jobs that it has not now: relays are at work. */
  relaying(service: Database): Promise<void>;
  /** Waits until nothing is left in the outbox, and compares: what orders.ts says for each, and nothing else. */
  settle(service: Database): Promise<void>;
  close(): Promise<void>;
}

export interface Relay {
  killAndRestart(): Promise<void>;
}

const WRITERS = 4;
const ROLLED_BACK = 0.25;

export async function startApplication(stage: Stage, cluster: Cluster): Promise<Application> {
  const database = await cluster.createDatabase({ empty: true });
  await installOutbox(database.url, { app: [], relay: [] });
  await database.query('CREATE TABLE orders (n int PRIMARY KEY, kind text NOT NULL)');
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
    relaying: async (service) => {
      const before = await service.count('millrace.jobs');
      const isMore = async (): Promise<boolean> => (await service.count('millrace.jobs')) > before;
      await stage.until(isMore, { what: 'a relay to be at work', withinMs: 120_000 });
    },
    settle: async (service) => {
      await drained(stage, database);
      await compareOrders(stage, database, service);
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
        const n = next();
        await placeOrder(client, n, kindOf(n, stage.random), !stage.random.chance(ROLLED_BACK));
        await sleep(stage.random.between(0, 5));
      }
    } catch {
      await sleep(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
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
