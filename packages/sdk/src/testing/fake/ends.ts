import { ENDED_LIMITS } from '../../rules/limits.js';
import type * as Wire from '../../wire/index.js';
import { invalid } from './problem.js';
import { ok, parameter, type Route } from './request.js';

/** Jobs in the order in which they ended. A place in it is how many have been told. */
const STATUSES = ['completed', 'failed', 'cancelled'] as const;

const listEnded: Route = ({ store, query }) => {
  const after = parameter.text(query, 'after');
  if (after !== null && !/^\d{1,9}$/.test(after)) throw invalid('after', 'must be the next of an answer before');
  const limit = parameter.wholeNumber(query, 'limit', ENDED_LIMITS);
  const statuses: readonly Wire.JobStatus[] = parameter.someOf(query, 'status', STATUSES);
  const [queue, task] = [parameter.text(query, 'queue'), parameter.text(query, 'task')];
  const from = after === null ? store.ended.length : Number(after);
  const looked = store.ended.slice(from, from + limit);
  const jobs = looked
    .flatMap((id) => store.job(id)?.record ?? [])
    .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
    .filter((job) => (queue === null || job.queue_name === queue) && (task === null || job.task_name === task));
  const next = from + looked.length;
  return ok({ jobs: jobs.map(summaryOf), next: String(next), more: next < store.ended.length, missed: false });
};

function summaryOf({ payload, result: _result, metadata: _metadata, ...job }: Wire.Job): Wire.JobSummary {
  return { ...job, payload_bytes: new TextEncoder().encode(JSON.stringify(payload)).length };
}

export const endRoutes: readonly (readonly [string, string, Route])[] = [['GET', '/jobs/ended', listEnded]];
