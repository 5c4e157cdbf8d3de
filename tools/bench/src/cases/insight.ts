import { Scope, scoped, type Case } from '../bench.js';
import type { BenchDatabase } from '../env/postgres.js';
import { QUEUE, TASK, TENANT } from '../work.js';
import { FinishedJobs } from './finished-jobs.js';
import { insertJobs, registerTenants } from './growth/fill.js';

/** What a dashboard asks again and again, and what it is compared with: one job, read by its id. */
export const READS = {
  job: '/api/v1/jobs/{id}',
  counts: '/api/v1/counts',
  'counts-queue': `/api/v1/counts?queue=${QUEUE}`,
  series: '/api/v1/series',
  'series-task': `/api/v1/series?queue=${QUEUE}&task=${TASK}`,
  'series-days': '/api/v1/series?from={days}',
} as const;

export const INSIGHT_TITLES: Readonly<Record<keyof typeof READS, string>> = {
  job: 'a job',
  counts: 'counts',
  'counts-queue': 'counts of a queue',
  series: 'series, an hour',
  'series-task': 'series of a task',
  'series-days': 'series, thirty days',
};

const DAY_MS = 86_400_000;
/** One in ten of the tenant's jobs waits. */
const WAITING = 0.1;
/** The others hold a hundredth of what the one tenant does, together. */
const TENANTS = 5;
const OTHERS = 0.01;

/** Counts and series of a tenant with very many jobs, beside the read of one of them, in the same round. */
export const insight: Case = async (bench) => {
  const scope = new Scope(bench);
  const database = await scope.database('millrace');
  const many = bench.scale.jobs.historyMany;
  const waiting = Math.round(many * WAITING);
  await new FinishedJobs(database, many).growTo(many - waiting);
  await registerTenants(database, TENANTS);
  const recent = { startMs: Date.now() - 3_000_000, stepMs: 3_000_000 / many, queue: QUEUE };
  await insertJobs(database, 'waiting', { ...recent, count: waiting });
  const earlier = { ...recent, startMs: Date.now() - 40 * DAY_MS, tenants: TENANTS };
  await insertJobs(database, 'finished', { ...earlier, count: Math.round(many * OTHERS) });
  await fillSeries(database);
  await bench.postgres.settle(database);
  const [job] = await database.query<{ id: string }>(
    'SELECT id FROM millrace.jobs WHERE tenant = $1 ORDER BY id OFFSET 1000 LIMIT 1',
    [TENANT],
  );
  const days = encodeURIComponent(new Date(Date.now() - 30 * DAY_MS).toISOString());
  const paths = Object.values(READS).map((path) => path.replace('{id}', job?.id ?? '').replace('{days}', days));
  return {
    round: () =>
      scoped(bench, async (inner) => {
        const { port } = await inner.millrace(database, 'api');
        const ms = await inner.load().call('reads', { port, paths, times: bench.scale.pages });
        Object.keys(READS).forEach((name, n) => bench.results.record(`insight.${name}`, ms[n] ?? NaN));
      }),
    close: () => scope.close(),
  };
};

/** The totals, and every step that is kept of as many series as a tenant may have. */
export async function fillSeries(database: Pick<BenchDatabase, 'query'>): Promise<void> {
  await database.query(`
    INSERT INTO millrace.totals (created, completed, failed, cancelled, tenant)
    SELECT j.n, coalesce(d.completed, 0), coalesce(d.failed, 0), coalesce(d.cancelled, 0), j.tenant
    FROM (SELECT tenant, count(*) AS n FROM millrace.jobs GROUP BY tenant) AS j
    LEFT JOIN (
      SELECT tenant, count(*) FILTER (WHERE status = 'completed') AS completed,
             count(*) FILTER (WHERE status = 'failed') AS failed,
             count(*) FILTER (WHERE status = 'cancelled') AS cancelled
      FROM millrace.done GROUP BY tenant
    ) AS d ON d.tenant = j.tenant
    ON CONFLICT (tenant) DO UPDATE
    SET created = excluded.created, completed = excluded.completed, failed = excluded.failed,
        cancelled = excluded.cancelled`);
  await database.query(
    `WITH name AS MATERIALIZED (
       SELECT $2 AS queue, $3 AS task UNION ALL SELECT $2, 'task-' || n FROM generate_series(1, 98) AS n
     ), named AS (
       INSERT INTO millrace.series_names (tenant, queue, task) SELECT $1, queue, task FROM name ON CONFLICT DO NOTHING
     )
     INSERT INTO millrace.series
       (at, created, completed, failed, retried, cancelled, step, tenant, queue, task, waits, runs)
     SELECT to_timestamp((floor(extract(epoch FROM now()) / kept.step) - n) * kept.step), 50, 45, 3, 2, 0, kept.step, $1,
            name.queue, name.task, '{0,5,20,15,10}', '{0,0,10,25,15}'
     FROM (VALUES (15, 240), (300, 576), (3600, 1440)) AS kept (step, rows), generate_series(1, kept.rows) AS n,
          (SELECT queue, task FROM name UNION ALL SELECT $2, '' UNION ALL SELECT '', '') AS name
     ON CONFLICT DO NOTHING`,
    [TENANT, QUEUE, TASK],
  );
}
