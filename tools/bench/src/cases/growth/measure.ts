import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@millrace/tools-shared';
import { scoped, type Bench } from '../../bench.js';
import type { BenchDatabase } from '../../env/postgres.js';
import type { EmbeddingMethods } from '../../servers/embedding.js';
import { JWT_SECRET, QUEUE } from '../../work.js';
import type { MeasureName } from './axes.js';
import { insertJobs } from './fill.js';

/** A database that has grown along one axis, and how the work that is measured in it is to be spread. */
export interface Grown {
  readonly database: BenchDatabase;
  /** How many tenants own that work. */
  readonly tenants: number;
  /** How many priorities that work has; without it, it says nothing of its priority. */
  readonly priorities?: number;
}

type Recorder = (measure: MeasureName, value: number) => void;

const API_FLAGS = ['--mode=api', `--jwt-secret=${JWT_SECRET}`];
const WAITED_MS = 60_000;
const SPREAD_MS = 30_000;
/** What is filled in as history is younger than the window, what retention is to remove is older. */
const WINDOW_HOURS = 60 * 24;
const EXPIRED_MS = 100 * 24 * 3_600_000;
const FILTERS = ['', 'status=completed'];
const WARM_CONNECTIONS = 16;
const POLL_MS = 5;
const LONGEST_MS = 600_000;
/** Nobody serves this queue: a reclaimed job stays where the janitor put it. */
const ABANDONED_QUEUE = 'abandoned';

/** Everything that is measured in one database, one after the other. */
export async function measureAll(bench: Bench, grown: Grown, record: Recorder): Promise<void> {
  record('drain', await measureDrain(bench, grown));
  await measureApi(bench, grown, record);
  record('retention', await measureRetention(bench, grown));
}

const isNow = (count: number): { count: number; startMs: number; stepMs: number } => ({
  count,
  startMs: Date.now() - WAITED_MS,
  stepMs: SPREAD_MS / count,
});

function measureDrain(bench: Bench, { database, tenants, priorities }: Grown): Promise<number> {
  return scoped(bench, async (scope) => {
    const jobs = bench.scale.growth.drained;
    await insertJobs(database, 'waiting', {
      ...isNow(jobs),
      queue: QUEUE,
      tenants,
      ...(priorities === undefined ? {} : { priorities }),
    });
    await bench.postgres.settle(database);
    const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
    const { perSecond } = await embedding.call('drainOfAnyTenants', { url: database.url, jobs });
    return perSecond;
  });
}

/** Leases that have expired are there at the start, so that the first sweep finds them. */
function measureApi(bench: Bench, { database, tenants }: Grown, record: Recorder): Promise<void> {
  return scoped(bench, async (scope) => {
    const { growth, pages, warmupMs, windowMs } = bench.scale;
    await insertJobs(database, 'abandoned', { ...isNow(growth.leases), queue: ABANDONED_QUEUE, tenants });
    await bench.postgres.settle(database);
    const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
    const port = await embedding.call('start', { url: database.url, flags: API_FLAGS });
    await until(async () => (await database.query('SELECT FROM millrace.leases LIMIT 1')).length === 0, {
      what: 'the janitor to reclaim every job',
      withinMs: LONGEST_MS,
    });
    await until(async () => (await embedding.call('metric', 'millrace_sweep_seconds_count')) > 0, {
      what: 'the sweep to end',
      withinMs: LONGEST_MS,
    });
    record('sweep', (await embedding.call('metric', 'millrace_sweep_seconds_sum')) * 1000);

    const load = scope.load();
    // One connection by itself would not send enough requests to warm up the server.
    await load.call('rateOfTenants', { port, connections: WARM_CONNECTIONS, tenants, warmupMs: 0, windowMs });
    const created = await load.call('rateOfTenants', { port, connections: 1, tenants, warmupMs, windowMs });
    record('create', created.p50);
    const readAll = async (): Promise<number[]> => {
      const ms: number[] = [];
      for (const filter of FILTERS)
        ms.push(...(await load.call('pages', { port, filter, before: [null], times: pages })));
      return ms;
    };
    await readAll();
    const ms = await readAll();
    record('page', ms.reduce((sum, one) => sum + one, 0) / ms.length);
  });
}

/**
 * Rows per second over a whole pass, the tenants without anything to remove included. A pass begins when its process
 * takes the turn, and ends when it keeps the turn for a time to come.
 */
function measureRetention(bench: Bench, { database, tenants }: Grown): Promise<number> {
  return scoped(bench, async (scope) => {
    const count = bench.scale.growth.expired;
    const expired = { count, startMs: Date.now() - EXPIRED_MS, stepMs: 1 };
    await insertJobs(database, 'finished', { ...expired, queue: QUEUE, tenants });
    await database.query('DELETE FROM millrace.loops');
    await bench.postgres.settle(database);
    const watcher = await database.connect();
    scope.onClose(() => watcher.end());
    const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
    const flags = [...API_FLAGS, `--retention-hours=${WINDOW_HOURS}`];
    const started = embedding.call('start', { url: database.url, flags });
    let begun: number | null = null;
    for (;;) {
      const { rows } = await watcher.query<{ turn: number; now: number }>(
        `SELECT extract(epoch FROM last_run_at)::float8 AS turn, extract(epoch FROM clock_timestamp())::float8 AS now
         FROM millrace.loops WHERE name = 'retention'`,
      );
      const [row] = rows;
      if (row && row.turn > row.now) {
        await started;
        if (begun === null) throw new Error('retention was over before it was seen to begin');
        await expectRemoved(database);
        return count / (row.now - begun);
      }
      if (row) begun ??= row.turn;
      await sleep(POLL_MS);
    }
  });
}

async function expectRemoved(database: BenchDatabase): Promise<void> {
  const [left] = await database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM millrace.done WHERE completed_at < now() - $1 * interval '1 hour'`,
    [WINDOW_HOURS],
  );
  if (left?.n !== 0) throw new Error(`retention left ${left?.n ?? '?'} rows behind`);
}
