import { describe, expect, it, onTestFinished } from 'vitest';
import { AUTH_FAILURES, Metrics, type MetricsOptions } from '../../src/telemetry/metrics.js';
import { TASK_EVENTS, TaskCounter } from '../../src/telemetry/task-counter.js';
import { startMetricsServer } from '../../src/telemetry/metrics-server.js';

function metricsFor(options?: MetricsOptions): Metrics {
  const metrics = new Metrics(options);
  onTestFinished(() => metrics.close());
  return metrics;
}

const linesOf = async (metrics: Metrics, name: string): Promise<string[]> =>
  (await metrics.text()).split('\n').filter((line) => line.startsWith(name) && !line.startsWith('#'));

const NAMES = [
  'millrace_http_request_duration_seconds histogram',
  'millrace_auth_failures_total counter',
  'millrace_jobs_created_total counter',
  'millrace_jobs_claimed_total counter',
  'millrace_jobs_completed_total counter',
  'millrace_jobs_retried_total counter',
  'millrace_jobs_failed_total counter',
  'millrace_jobs_cancelled_total counter',
  'millrace_leases_expired_total counter',
  'millrace_stale_tokens_total counter',
  'millrace_job_wait_seconds histogram',
  'millrace_job_run_seconds histogram',
  'millrace_claim_seconds histogram',
  'millrace_sweep_seconds histogram',
  'millrace_retention_lag_seconds gauge',
  'millrace_queue_depth gauge',
  'millrace_oldest_ready_age_seconds gauge',
  'millrace_dead_letters gauge',
  'millrace_long_polls gauge',
  'millrace_job_waits gauge',
  'millrace_event_streams gauge',
  'millrace_db_connections gauge',
  'millrace_pool_workers gauge',
  'millrace_event_loop_lag_seconds gauge',
  'process_cpu_seconds_total counter',
  'process_resident_memory_bytes gauge',
  'nodejs_heap_size_used_bytes gauge',
  'nodejs_gc_duration_seconds histogram',
];

const PROBES = { health: () => ({ version: '1.2.3' }), ready: async () => true };

describe('metrics', () => {
  it('have the documented names and types', async () => {
    const page = await metricsFor().text();
    for (const name of NAMES) expect(page).toContain(`# TYPE ${name}\n`);
  });

  it('count in bulk, by label where there is one', async () => {
    const metrics = metricsFor();
    metrics.jobsCreated.inc(1000);
    metrics.jobsFailed.inc({ reason: 'non_retryable' }, 3);
    metrics.staleTokens.inc({ operation: 'complete' });
    expect(await linesOf(metrics, 'millrace_jobs_created_total')).toEqual(['millrace_jobs_created_total 1000']);
    expect(await linesOf(metrics, 'millrace_jobs_failed_total')).toContain(
      'millrace_jobs_failed_total{reason="non_retryable"} 3',
    );
  });

  it('have a sample for every value of every label of a counter from the start, and say what runs', async () => {
    const metrics = metricsFor({ version: '1.2.3' });
    const page = await metrics.text();
    for (const [name, label, ...values] of [
      ['requests_shed', 'load', 'new', 'waiting', 'vital', 'answer'],
      ['jobs_failed', 'reason', 'max_attempts_exceeded', 'non_retryable', 'handler_not_found'],
      ['stale_tokens', 'operation', 'heartbeat', 'complete', 'fail', 'release'],
      ['workflows', 'outcome', 'completed', 'failed', 'partially_failed', 'cancelled'],
      ['cron_firings', 'kind', 'on_time', 'catch_up'],
      ['auth_failures', 'kind', ...AUTH_FAILURES],
    ]) {
      for (const value of values) expect(page).toContain(`\nmillrace_${name}_total{${label}="${value}"} 0\n`);
    }
    // No counter whose labels are known has been forgotten.
    const counters = [...page.matchAll(/^# TYPE (millrace_\w+) counter$/gm)].map(([, name]) => name!);
    const silent = counters.filter((name) => !page.includes(`\n${name}{`) && !page.includes(`\n${name} 0`));
    expect(silent).toEqual(['millrace_task_jobs_total']);
    expect(page).toContain(`millrace_build_info{version="1.2.3",node="${process.versions.node}"} 1\n`);
  });

  it('count by queue and task for so many pairs, and the rest under no name', async () => {
    const counter = new TaskCounter('things_total', 'Things.', metricsFor().registry, 2);
    for (const [queue, task] of [
      ['q', 's'],
      ['q', 't'],
      ['q', 's'],
      ['r', 't'],
      ['q', 'u'],
      ['q', 's'],
    ] as const)
      counter.inc(queue, task, 'completed');
    const { values } = (await counter.get()) as { values: { labels: Record<string, string>; value: number }[] };
    expect(values).toHaveLength(3 * TASK_EVENTS.length);
    const completed = values.filter(({ labels }) => labels.event === 'completed');
    expect(completed.map(({ labels: { queue, task }, value }) => [queue, task, value])).toEqual([
      ['q', 's', 3],
      ['q', 't', 1],
      ['', '', 2],
    ]);
    expect(values.filter(({ labels }) => labels.event !== 'completed').every(({ value }) => value === 0)).toBe(true);
  });

  it('put observations into cumulative buckets', async () => {
    const metrics = metricsFor();
    const series = metrics.jobRun.series('completed');
    for (const seconds of [0.001, 0.005, 0.3, 100_000]) series.observe(seconds);
    const lines = await linesOf(metrics, 'millrace_job_run_seconds');
    const bucket = (le: string): string => `millrace_job_run_seconds_bucket{le="${le}",outcome="completed"}`;
    expect(lines).toContain(`${bucket('0.005')} 2`);
    expect(lines).toContain(`${bucket('0.1')} 2`);
    expect(lines).toContain(`${bucket('0.5')} 3`);
    expect(lines).toContain(`${bucket('86400')} 3`);
    expect(lines).toContain(`${bucket('+Inf')} 4`);
    expect(lines).toContain('millrace_job_run_seconds_count{outcome="completed"} 4');
    expect(lines).toContain('millrace_job_run_seconds_sum{outcome="completed"} 100000.306');
  });

  it('keep one series per set of labels', () => {
    const metrics = metricsFor();
    expect(metrics.jobRun.series('failed')).toBe(metrics.jobRun.series('failed'));
    expect(metrics.jobRun.series('failed')).not.toBe(metrics.jobRun.series('completed'));
  });

  it('survive any queue name', async () => {
    const queue = 'a"b\\c\nd{}';
    const metrics = metricsFor({ collect: async (m) => m.queueDepth.set({ queue, status: 'pending' }, 1) });
    expect(await linesOf(metrics, 'millrace_queue_depth')).toEqual([
      'millrace_queue_depth{queue="a\\"b\\\\c\\nd{}",status="pending"} 1',
    ]);
  });

  it('of two servers in one process are separate', async () => {
    const [one, two] = [metricsFor(), metricsFor()];
    one.jobsCreated.inc();
    expect(await linesOf(two, 'millrace_jobs_created_total')).toEqual(['millrace_jobs_created_total 0']);
  });

  it('query the database at each scrape and drop what no longer exists', async () => {
    let queues = ['a', 'b'];
    const metrics = metricsFor({
      collect: async (m) => {
        for (const queue of queues) m.queueDepth.set({ queue, status: 'pending' }, 7);
      },
    });
    expect(await linesOf(metrics, 'millrace_queue_depth')).toHaveLength(2);
    queues = ['b'];
    expect(await linesOf(metrics, 'millrace_queue_depth')).toEqual([
      'millrace_queue_depth{queue="b",status="pending"} 7',
    ]);
  });

  it.each([
    ['fails', async () => Promise.reject(new Error('the database is away'))],
    ['never answers', () => new Promise<void>(() => undefined)],
    [
      'throws',
      () => {
        throw new Error('at once');
      },
    ],
  ])('are shown even if the database %s', async (_what, collect) => {
    const metrics = metricsFor({ collect, collectTimeoutMs: 20 });
    metrics.jobsCreated.inc();
    const page = await metrics.text();
    expect(page).toContain('\nmillrace_jobs_created_total 1\n');
    expect(page).toContain('\nmillrace_collect_failures_total 1\n');
  });

  it('query once for overlapping scrapes', async () => {
    let asked = 0;
    const metrics = metricsFor({ collect: async () => void asked++ });
    await Promise.all([metrics.text(), metrics.text(), metrics.text()]);
    expect(asked).toBe(1);
  });
});

describe('the metrics port', () => {
  async function serve(metrics = metricsFor()) {
    const server = await startMetricsServer(metrics, PROBES, { host: '127.0.0.1', port: 0 });
    onTestFinished(() => server.stop());
    return { ...server, url: `http://127.0.0.1:${server.port}` };
  }

  it('serves the page without a token', async () => {
    const { url } = await serve();
    for (const path of ['/metrics', '/metrics?x=1']) {
      const response = await fetch(url + path);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching('^text/plain'),
      ]);
      expect(await response.text()).toContain('millrace_jobs_created_total 0');
    }
  });

  it.each([
    ['GET', '/'],
    ['GET', '/api/v1/jobs'],
    ['POST', '/metrics'],
    ['GET', '/metrics/'],
    ['GET', '/nowhere'],
  ])('%s %s is a 404 with the usual error body', async (method, path) => {
    const { url } = await serve();
    const response = await fetch(url + path, { method });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: expect.any(String),
      code: 'not_found',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  it('stops at once, even with open connections, and frees its port', async () => {
    const { url, port, stop } = await serve();
    await (await fetch(`${url}/metrics`)).text();
    await stop();
    await expect(fetch(`${url}/metrics`)).rejects.toThrow();
    const again = await startMetricsServer(metricsFor(), PROBES, { host: '127.0.0.1', port });
    await again.stop();
  });

  it('reports that its port is taken', async () => {
    const { port } = await serve();
    await expect(startMetricsServer(metricsFor(), PROBES, { host: '127.0.0.1', port })).rejects.toThrow('EADDRINUSE');
  });
});
