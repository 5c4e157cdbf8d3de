import type { Counters } from '../shared/counters.js';
import type { ClaimedJob } from './claimed-job.js';

/**
 * How long a claimed job had to wait. A job that was given back keeps its place in its queue, and has been due since
 * before it was held: it waited from the end of that attempt, which is looked up later, with the series.
 */
export function noteWait({ metrics, series }: Counters, job: ClaimedJob, claimedMs: number): void {
  const { id, tenant_id: tenant, queue_name: queue, task_name: task, delivery_count: deliveries, dueMs } = job;
  const wasGivenBack = deliveries - 1 > job.retry_count;
  if (wasGivenBack && series.redelivered({ id, tenant, queue, task, dueMs, claimedMs, after: deliveries - 1 })) return;
  const secs = Math.max(0, claimedMs - dueMs) / 1000;
  metrics.waited(secs);
  series.waited(tenant, queue, task, secs);
}
