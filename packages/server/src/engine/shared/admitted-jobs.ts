import type { EngineMetrics } from './counters.js';
import type { Hub } from './hub.js';

/** Jobs of one queue and priority that came out of the lines of their limits. `sinceMs`: when the first fell due. */
export type AdmittedJobs = readonly [queue: string, priority: number, count: number, sinceMs: number];

export function announceAdmitted(hub: Hub, metrics: EngineMetrics, admitted: readonly AdmittedJobs[]): void {
  for (const [queue, priority, count, sinceMs] of admitted) {
    metrics.admitted(count);
    hub.announceWork(queue, priority, Math.floor(sinceMs));
  }
}
