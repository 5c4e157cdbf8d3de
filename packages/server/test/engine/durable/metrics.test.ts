import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEngine, type EngineParts } from '../../../src/engine/engine.js';
import { Database } from '../../../src/store/connection/database.js';
import { Metrics } from '../../../src/telemetry/metrics.js';
import { engineMetrics } from '../../../src/wiring/engine-metrics.js';
import { connectionOf } from '../../support/pooled.js';
import { TENANT_A, useTestServer } from '../../support/server.js';
import { complete, createJob, leaseOne, newQueue, report } from '../kit.js';
import { signal, suspend } from './kit.js';

const { a, worker, metricsUrl, database } = await useTestServer({ config: { mode: 'api' } });
// Signals are forgotten by the process that counts them here, and by no other: its turn is taken for ever.
await database.query(`INSERT INTO millrace.loops (name, last_run_at) VALUES ('traces', 'infinity')
  ON CONFLICT (name) DO UPDATE SET last_run_at = 'infinity'`);
const HOUR = 3_600;

async function sample(url: string, name: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text();
  const line = page.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

/** A process of its own, whose sweeps run when the test says so. */
function useSweeper(): { engine: EngineParts; metrics: Metrics } {
  const metrics = new Metrics();
  const db = new Database({
    ...connectionOf(database.homeOf(TENANT_A).url),
    maxConnections: 4,
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(async () => {
    metrics.close();
    await db.close();
  });
  const options = { tasks: [], defaultQueue: 'default', maxPayloadBytes: 1_000_000, ready: async () => true };
  return { metrics, engine: createEngine({ db, metrics: engineMetrics(metrics), ...options }) };
}

describe('the metrics of durable jobs', () => {
  it('count jobs that sleep and wait, signals that are stored, and those that are refused', async () => {
    const queue = newQueue();
    for (let n = 0; n < 4; n++) await createJob(a, queue);
    const parent = await leaseOne(worker, queue);
    await report(worker, 'children', parent, { jobs: [{ name: 'c', task_name: 't', config: { queue: newQueue() } }] });
    await suspend(worker, parent, { checkpoint: 'all', delay_secs: HOUR, wait: { children: ['c'] } });
    await suspend(worker, await leaseOne(worker, queue), { checkpoint: 'nap', delay_secs: HOUR });
    for (let n = 0; n < 2; n++) {
      const wait = { signal: { name: 'go', key: `k${n}` } };
      await suspend(worker, await leaseOne(worker, queue), { checkpoint: 'answer', delay_secs: HOUR, wait });
    }
    for (let n = 0; n < 101; n++) await signal(a, { name: 'unheard', key: 'x' });
    expect(await sample(metricsUrl, 'millrace_jobs_suspended{for="sleep"}')).toBe(1);
    expect(await sample(metricsUrl, 'millrace_jobs_suspended{for="signal"}')).toBe(2);
    expect(await sample(metricsUrl, 'millrace_jobs_suspended{for="children"}')).toBe(1);
    expect(await sample(metricsUrl, 'millrace_signals_stored')).toBe(100);
    expect(await sample(metricsUrl, 'millrace_signals_untaken_total{how="refused"}')).toBe(1);
    expect(await sample(metricsUrl, 'millrace_signals_untaken_total{how="expired"}')).toBe(0);
  });

  it('count signals whose time or whose job is over, however many others are kept', async () => {
    const queue = newQueue();
    const [first, second, ended] = [await createJob(a, queue), await createJob(a, queue), await createJob(a, queue)];
    for (const name of ['one', 'two']) expect((await a.post(`/api/v1/jobs/${ended}/signals/${name}`)).status).toBe(202);
    // More of a kind than a sweep looks at, to jobs that have not ended.
    await database.query(
      `INSERT INTO millrace.signals (expires_at, job_id, tenant, name, key, value)
       SELECT 'infinity', id, 'tenant-a', n::text, id::text, 'null'
       FROM unnest($1::uuid[]) AS id, generate_series(1, 700) AS n`,
      [[first, second]],
    );
    for (const id of [first, second, ended]) {
      const leased = await leaseOne(worker, queue);
      expect(leased.job.id).toBe(id);
      if (id === ended) await complete(worker, leased);
    }
    await database.query(
      `INSERT INTO millrace.signals (expires_at, tenant, name, key, value)
       VALUES (now() - interval '1 second', 'tenant-a', 'late', 'x', 'null')`,
    );
    const { engine, metrics } = useSweeper();
    for (let sweep = 0; sweep < 3; sweep++) await engine.suspensions.forget();
    const page = await metrics.text();
    expect(page).toContain('millrace_signals_untaken_total{how="expired"} 1\n');
    expect(page).toContain('millrace_signals_untaken_total{how="job_ended"} 2\n');
    expect(await database.query('SELECT FROM millrace.signals WHERE job_id = $1', [ended])).toEqual([]);
    const kept = await database.query('SELECT FROM millrace.signals WHERE job_id = ANY ($1)', [[first, second]]);
    expect(kept).toHaveLength(1_400);
  });
});
