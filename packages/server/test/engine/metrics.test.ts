import { describe, expect, it } from 'vitest';
import { useTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import * as kit from './kit.js';
import {
  complete,
  createJob,
  createJobs,
  expireLease,
  fail,
  heartbeat,
  lease,
  leaseOne,
  newQueue,
  SWEEP_OFTEN,
  waitFor,
} from './kit.js';
import { openEvents } from './jobs/sse.js';

/** One scenario that touches everything that is counted, then one look at the page. */
describe('the metrics of the engine', async () => {
  const { a, b, worker, metricsUrl, database } = await useTestServer({
    config: { workers: 3 },
    intervals: SWEEP_OFTEN,
  });
  const scrape = async (): Promise<Map<string, number>> => {
    const page = await (await fetch(`${metricsUrl}/metrics`)).text();
    const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(
      lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
    );
  };

  it('count and measure what happened, and never name a tenant', async () => {
    const queue = newQueue();
    const waiting = 'waiting "queue"\\';

    // Claimed: 4 remotely, 1 of them twice, and 3 in process.
    await createJobs(a, queue, 4, { retry_delay_secs: 0, max_retries: 1 });
    const [done, failing, hopeless, expiring] = await lease(worker, queue, { max_jobs: 4 });
    await complete(worker, done!);
    await fail(worker, failing!);
    await fail(worker, await leaseOne(worker, queue));
    await fail(worker, hopeless!, { retryable: false });
    await heartbeat(worker, expiring!);
    await expireLease(database, expiring!.job.id);
    const revenant = await until(async () => (await lease(worker, queue))[0], { what: 'the lease to be reclaimed' });
    expect(revenant.job.id).toBe(expiring!.job.id);
    for (const late of [heartbeat(worker, expiring!), complete(worker, expiring!), fail(worker, expiring!)]) {
      expect((await late).status).toBe(409);
    }
    await waitFor(b, await createJob(b, 'default', { task_name: 'echo' }), 'completed');
    await waitFor(a, await createJob(a, 'default', { task_name: 'nobody' }), 'failed');
    const sleep = { task_name: 'sleep', payload: { seconds: 3_600 }, config: { timeout: 3_600 } };
    const busy = await createJob(a, 'default', sleep);
    await waitFor(a, busy, 'running');
    await kit.cancel(a, await createJob(a, newQueue()));

    // The gauges, at the moment of the look.
    await createJobs(a, waiting, 2);
    await createJob(b, waiting, { run_at: kit.inSeconds(3_600) });
    const retrying = newQueue();
    await createJob(a, retrying, { config: { retry_delay_secs: 0 } });
    await fail(worker, await leaseOne(worker, retrying));
    const stream = await openEvents(a, busy);
    const hangUp = new AbortController();
    const call = { body: { wait_secs: 30 }, signal: hangUp.signal };
    // Again and again: the longest wait may be over before the rest is seen, on a machine that is held up.
    const poll = async (path: string): Promise<void> => {
      while (!hangUp.signal.aborted) await worker.send('POST', path, call).catch(() => null);
    };
    const polling = poll(`/api/v1/queues/${newQueue()}/lease`);
    // What the pool and the sweep do is seen in the database a moment before they have heard of it themselves.
    const heard: readonly [string, number][] = [
      ['millrace_long_polls', 1],
      ['millrace_pool_workers{state="busy"}', 1],
      ['millrace_jobs_completed_total', 2],
      ['millrace_jobs_failed_total{reason="handler_not_found"}', 1],
      ['millrace_leases_expired_total', 1],
      // The page comes without what the database tells if that takes some seconds.
      ['millrace_dead_letters', 3],
    ];
    const seen = await until(async () => {
      const page = await scrape();
      const missing = heard.find(([name, least]) => (page.get(name) ?? 0) < least);
      return missing === undefined ? page : `no ${missing[0]} yet`;
    });

    const counters: Record<string, number> = {
      millrace_jobs_created_total: 4 + 1 + 1 + 1 + 1 + 2 + 1 + 1,
      millrace_jobs_claimed_total: 4 + 1 + 1 + 3 + 1,
      millrace_jobs_completed_total: 2,
      millrace_jobs_retried_total: 3,
      'millrace_jobs_failed_total{reason="max_attempts_exceeded"}': 1,
      'millrace_jobs_failed_total{reason="non_retryable"}': 1,
      'millrace_jobs_failed_total{reason="handler_not_found"}': 1,
      millrace_jobs_cancelled_total: 1,
      millrace_leases_expired_total: 1,
      'millrace_stale_tokens_total{operation="heartbeat"}': 1,
      'millrace_stale_tokens_total{operation="complete"}': 1,
      'millrace_stale_tokens_total{operation="fail"}': 1,
      millrace_job_wait_seconds_count: 10,
      'millrace_job_run_seconds_count{outcome="completed"}': 2,
      'millrace_job_run_seconds_count{outcome="retrying"}': 3,
      'millrace_job_run_seconds_count{outcome="failed"}': 3,
      millrace_dead_letters: 3,
      millrace_event_streams: 1,
      [`millrace_task_jobs_total{queue="${queue}",task="task",event="created"}`]: 4,
      [`millrace_task_jobs_total{queue="${queue}",task="task",event="completed"}`]: 1,
      [`millrace_task_jobs_total{queue="${queue}",task="task",event="retried"}`]: 2,
      [`millrace_task_jobs_total{queue="${queue}",task="task",event="failed"}`]: 2,
      [`millrace_task_jobs_total{queue="${queue}",task="task",event="cancelled"}`]: 0,
      'millrace_task_jobs_total{queue="default",task="echo",event="completed"}': 1,
      'millrace_task_jobs_total{queue="default",task="nobody",event="failed"}': 1,
      millrace_oldest_past_retention_seconds: 0,
      'millrace_pool_workers{state="busy"}': 1,
      'millrace_pool_workers{state="idle"}': 2,
      'millrace_queue_depth{queue="default",status="running"}': 1,
      'millrace_queue_depth{queue="waiting \\"queue\\"\\\\",status="pending"}': 2,
      'millrace_queue_depth{queue="waiting \\"queue\\"\\\\",status="scheduled"}': 1,
      [`millrace_queue_depth{queue="${queue}",status="running"}`]: 1,
      [`millrace_queue_depth{queue="${retrying}",status="retrying"}`]: 1,
    };
    expect(Object.fromEntries(Object.keys(counters).map((name) => [name, seen.get(name)]))).toEqual(counters);
    for (const name of ['millrace_claim_seconds_count', 'millrace_sweep_seconds_count']) {
      expect(seen.get(name)).toBeGreaterThan(0);
    }
    // A retry that is due waits like any other job.
    for (const each of ['waiting \\"queue\\"\\\\', retrying]) {
      expect(seen.get(`millrace_oldest_ready_age_seconds{queue="${each}"}`), each).toBeGreaterThan(0);
    }
    expect(seen.get('millrace_job_run_seconds_sum{outcome="retrying"}')).toBeGreaterThan(0);
    expect(seen.has('millrace_event_loop_lag_seconds')).toBe(true);
    expect([...seen.keys()].join()).not.toMatch(/tenant[-_]?[ab]\b|tenant=/);

    hangUp.abort();
    await polling;
    await stream.close();
    await kit.cancel(a, busy);
  });
});

it('the page stays bounded and loses no job, however many queues tenants create', async () => {
  const { a, metricsUrl } = await useTestServer({ config: { mode: 'api' } });
  const deep = newQueue();
  const jobs = Array.from({ length: 700 }, (_, i) => ({ task_name: 't', config: { queue: `made-up-${i}` } }));
  const more = Array.from({ length: 300 }, () => ({ task_name: 't', config: { queue: deep } }));
  expect((await a.post('/api/v1/jobs/batch', { jobs: [...jobs, ...more] })).status).toBe(201);
  // It comes without what the database tells if that takes some seconds.
  const [page = ''] = await until(async () => {
    const text = await (await fetch(`${metricsUrl}/metrics`)).text();
    return text.includes('\nmillrace_queue_depth{') && [text];
  });
  const depths = [...page.matchAll(/^millrace_queue_depth\{(.*)\} (\d+)$/gm)];
  expect(depths.length).toBeGreaterThan(400);
  expect(depths.length).toBeLessThanOrEqual(501);
  expect(depths.map(([, labels]) => labels)).toContain(`queue="${deep}",status="pending"`);
  expect(depths.find(([, labels]) => labels === 'queue="",status="pending"')?.[2]).toBe('201');
  expect(depths.reduce((sum, [, , n]) => sum + Number(n), 0)).toBe(1000);
  expect(page).toMatch(/^millrace_oldest_ready_age_seconds\{queue=""\} [\d.]+$/m);
});
