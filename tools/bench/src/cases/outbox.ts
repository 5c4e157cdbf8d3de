import { setTimeout as sleep } from 'node:timers/promises';
import { installOutbox } from '@millrace/server';
import { median, MILLRACE, monotonicMicros, startProgram, until } from '@millrace/tools-shared';
import type pg from 'pg';
import { perRound, type Scope } from '../bench.js';
import type { BenchDatabase } from '../env/postgres.js';
import type { EmbeddingMethods } from '../servers/embedding.js';
import { BATCH, CALLS_IN_FLIGHT, PAYLOAD_TEXT, TASK, TENANT_KEY } from '../work.js';

/** They take turns within a round: what slows the machine down slows both. */
const TURNS = 5;

/**
 * The outbox: entries per second through one relay beside direct batches; an `enqueue` in a transaction beside a plain
 * insert of the same row; and the time from the commit to the start of the handler in an idle service. Both databases
 * are on one PostgreSQL, and relay, service and load on one machine.
 */
export const outbox = perRound(async (scope) => {
  const application = await scope.database('empty');
  await installOutbox(application.url, { app: [], relay: [] });
  await rates(scope, application);
  await costs(scope, application);
  await delays(scope, application);
});

async function rates(scope: Scope, application: BenchDatabase): Promise<void> {
  const { results, scale, postgres } = scope.bench;
  const database = await scope.database('millrace');
  const server = await scope.millrace(database, 'api');
  const load = scope.load();
  const jobs = scale.jobs.millrace;
  const batches = { port: server.port, connections: CALLS_IN_FLIGHT, what: 'batch' as const, count: jobs / BATCH };
  const direct = async (): Promise<number> => {
    const startedAt = performance.now();
    await load.call('count', batches);
    return performance.now() - startedAt;
  };
  const watcher = await application.connect();
  scope.onClose(() => watcher.end());
  const stop = await startRelay(application, server.port);
  const relayed = async (): Promise<number> => {
    await fill(application, jobs);
    const startedAt = performance.now();
    await empty(watcher);
    return performance.now() - startedAt;
  };
  // Both ways are equally warm before either counts.
  await direct();
  await relayed();
  const ms = { direct: 0, relayed: 0 };
  for (let turn = 0; turn < TURNS; turn++) {
    ms.direct += await direct();
    ms.relayed += await relayed();
  }
  results.record('outbox.direct', (TURNS * jobs) / (ms.direct / 1000));
  results.record('outbox.relayed', (TURNS * jobs) / (ms.relayed / 1000));
  await stop();
  await postgres.settle(application);
}

/** One statement, so that all of it becomes visible at once. */
const fill = (application: BenchDatabase, count: number): Promise<unknown> =>
  application.query(`SELECT count(millrace_outbox.enqueue($1, $2)) FROM generate_series(1, $3::int)`, [
    TASK,
    PAYLOAD_TEXT,
    count,
  ]);

async function empty(client: pg.Client): Promise<void> {
  // From the end: at the start lies all that was deleted, and each look would walk over it.
  const isEmpty = async (): Promise<boolean> =>
    (await client.query('SELECT FROM millrace_outbox.entries ORDER BY seq DESC LIMIT 1')).rowCount === 0;
  await until(isEmpty, { what: 'the outbox to be empty', withinMs: 120_000, everyMs: 5 });
}

const PLAIN = `
  INSERT INTO millrace_outbox.entries (id, task, payload, size)
  VALUES (gen_random_uuid(), $1, $2::json, octet_length($2::json::text))`;
const ENQUEUE = 'SELECT millrace_outbox.enqueue($1, $2)';

/** They take turns: what slows the machine down slows both. */
async function costs(scope: Scope, application: BenchDatabase): Promise<void> {
  const { results, scale } = scope.bench;
  const client = await application.connect();
  scope.onClose(() => client.end());
  const ms: Record<'plain' | 'enqueue', number[]> = { plain: [], enqueue: [] };
  for (let n = 0; n < scale.latencySamples * 4; n++) {
    ms.plain.push(await transaction(client, 'plain', PLAIN));
    ms.enqueue.push(await transaction(client, 'enqueue', ENQUEUE));
  }
  await client.query('TRUNCATE millrace_outbox.entries');
  results.record('outbox-insert.plain', median(ms.plain));
  results.record('outbox-insert.enqueue', median(ms.enqueue));
}

async function transaction(client: pg.Client, name: string, text: string): Promise<number> {
  const startedAt = performance.now();
  await client.query('BEGIN');
  await client.query({ name, text, values: [TASK, PAYLOAD_TEXT] });
  await client.query('COMMIT');
  return performance.now() - startedAt;
}

async function delays(scope: Scope, application: BenchDatabase): Promise<void> {
  const { results, scale } = scope.bench;
  const database = await scope.database('millrace');
  const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
  const port = await embedding.call('start', { url: database.url });
  const stop = await startRelay(application, port);
  const client = await application.connect();
  scope.onClose(() => client.end());
  const stamp = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      await client.query('BEGIN');
      await client.query(`SELECT millrace_outbox.enqueue('stamp', json_build_object('at', $1::float8))`, [
        monotonicMicros(),
      ]);
      await client.query('COMMIT');
      await sleep(20 + Math.random() * 60);
    }
  };
  const warm = Math.ceil(scale.latencySamples / 5);
  await stamp(warm);
  await embedding.call('completed', { jobs: warm });
  await embedding.call('delays');
  await stamp(scale.latencySamples);
  await embedding.call('completed', { jobs: warm + scale.latencySamples });
  const { p50, p99 } = await embedding.call('delays');
  results.record('outbox-p50.handler', p50);
  results.record('outbox-p99.handler', p99);
  await stop();
}

/** Resolves once it waits for entries. */
async function startRelay(application: BenchDatabase, port: number): Promise<() => Promise<void>> {
  const program = startProgram({
    script: MILLRACE,
    args: ['relay', '--host=127.0.0.1', '--metrics-port=0', '--log-level=warn', '--log-format=json'],
    env: {
      MILLRACE_OUTBOX_URL: application.url,
      MILLRACE_URL: `http://127.0.0.1:${port}`,
      MILLRACE_TOKEN: TENANT_KEY,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const isListening = async (): Promise<boolean> =>
    (await application.query('SELECT FROM millrace_outbox.relays WHERE told_until > now()')).length > 0;
  await until(isListening, { what: 'the relay to listen', withinMs: 30_000 });
  return async () => void (await program.end());
}
