import type { Connection } from '../connection/connect.js';
import type { JobSummary } from './job-views.js';

/** How many of the last jobs of a task are looked at. */
const LOOKED_AT = 100;

/** The queues that the last jobs of a task were on, but for one job: the last used first. */
export async function queuesOfTask(
  { raw }: Connection,
  task: string,
  { but, signal }: { readonly but: string; readonly signal: AbortSignal },
): Promise<string[]> {
  const query = { task, view: 'summary', limit: LOOKED_AT };
  const { body } = await raw.call<{ jobs: JobSummary[] }>(['jobs'], { query, signal });
  const own = body.jobs.find(({ id }) => id === but)?.queue_name;
  return [...new Set(body.jobs.map(({ queue_name: queue }) => queue))].filter((queue) => queue !== own);
}
