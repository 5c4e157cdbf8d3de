import { hasEnded } from '../../records/jobs.js';
import { LOG_LINES_PER_CALL, LOG_PAGE_LINES, WAIT_LIMITS } from '../../rules/limits.js';
import type * as Wire from '../../wire/index.js';
import { invalid, notFound } from './problem.js';
import { ok, parameter, type Route } from './request.js';
import type { FakeStore, StoredJob } from './store.js';

/** What handlers wrote. A job keeps this many lines, whatever their size. */
const MOST_LINES = 10_000;

export function keepLogs(store: FakeStore, job: StoredJob, logs: readonly Wire.NewLogLine[] | null | undefined): void {
  if (!logs || logs.length === 0) return;
  const attempt = job.record.delivery_count;
  let seq = job.logs.filter((line) => line.attempt === attempt).length;
  for (const { fields, ...line } of logs.slice(0, LOG_LINES_PER_CALL))
    if (job.logs.length < MOST_LINES) job.logs.push({ attempt, seq: ++seq, ...line, ...(fields && { fields }) });
  store.changed();
}

const readLogs: Route = async ({ store, params, query, signal }) => {
  const job = store.job(params[0] ?? '');
  if (!job) throw notFound('job');
  const only = parameter.wholeNumber(query, 'attempt', { minimum: 0, maximum: 2_147_483_647, default: 0 });
  const after = parameter.text(query, 'after') ?? '0.0';
  if (!/^\d{1,9}\.\d{1,15}$/.test(after)) throw invalid('after', 'must be the next of a page before');
  const [attempt = 0, seq = 0] = after.split('.').map(Number);
  const found = (): Wire.LogLine[] =>
    job.logs.filter(
      (line) =>
        (only === 0 || line.attempt === only) &&
        (line.attempt > attempt || (line.attempt === attempt && line.seq > seq)),
    );
  const deadline = store.clock.now() + parameter.wholeNumber(query, 'wait_secs', WAIT_LIMITS) * 1_000;
  await store.until(() => found().length > 0 || hasEnded(job.record.status), deadline, signal);
  const lines = found().slice(0, LOG_PAGE_LINES);
  const last = lines.at(-1);
  const next = last === undefined ? after : `${last.attempt}.${last.seq}`;
  const isOver = hasEnded(job.record.status) && lines.length < LOG_PAGE_LINES;
  return ok({ lines, omitted: 0, ...(!isOver && { next }) });
};

export const logRoutes: readonly (readonly [string, string, Route])[] = [['GET', '/jobs/:id/logs', readLogs]];
