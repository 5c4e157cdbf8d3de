import { hasEnded } from '../../records/jobs.js';
import type * as Wire from '../../wire/index.js';
import { linesOf } from './admission.js';
import { askersOf, lastAsk } from './presence.js';
import { nothing, ok, pageByName, parameter, type Route } from './request.js';
import { inClaimOrder, isWaiting } from './settle.js';
import type { FakeStore, StoredJob } from './store.js';

/** Queues, their limits, and who works on them. */

const unfinished = (store: FakeStore): StoredJob[] =>
  [...store.jobs.values()].filter(({ record }) => !hasEnded(record.status));

const isRetry = ({ record }: StoredJob): boolean => record.status === 'retrying';

function depthOf(store: FakeStore, queue: string): Wire.QueueDepth {
  const now = store.clock.now();
  const own = unfinished(store).filter(({ record }) => record.queue_name === queue);
  const waiting = own.filter(({ record }) => record.status !== 'running');
  const due = waiting.filter(({ dueAt }) => dueAt <= now);
  const oldest = Math.min(...due.map(({ dueAt }) => dueAt));
  return {
    queue,
    pending: due.length,
    scheduled: waiting.length - due.length,
    running: own.length - waiting.length,
    oldest_pending_age_secs: due.length === 0 ? null : Math.floor((now - oldest) / 1_000),
    retrying: waiting.filter(isRetry).length,
    retrying_later: waiting.filter((job) => isRetry(job) && job.dueAt > now).length,
    paused_at: store.paused.get(queue)?.at ?? null,
    paused_reason: store.paused.get(queue)?.reason ?? null,
    paused_by: store.paused.has(queue) ? 'admin' : null,
    last_lease_at: lastAsk(store, queue),
    settings: null,
  };
}

const queues: Route = ({ store, query }) => {
  const listed = parameter.truth(query, 'idle') ? [...store.jobs.values()] : unfinished(store);
  const names = new Set(listed.map(({ record }) => record.queue_name));
  return ok({ queues: [...names].sort().map((queue) => depthOf(store, queue)) });
};

const NEXT_SHOWN = 20;

const queueDetail: Route = ({ store, params }) => {
  const [queue = ''] = params;
  const own = unfinished(store).filter(({ record }) => record.queue_name === queue);
  const tasks = new Map<string, Omit<Wire.QueueDetail['by_task'][number], 'task_name'>>();
  for (const job of own) {
    const { record, dueAt } = job;
    const counts = tasks.get(record.task_name) ?? {
      ...{ waiting: 0, scheduled: 0, retrying: 0, retrying_later: 0, running: 0 },
    };
    tasks.set(record.task_name, counts);
    const isDue = dueAt <= store.clock.now();
    counts[record.status === 'running' ? 'running' : isDue ? 'waiting' : 'scheduled']++;
    counts.retrying += Number(isRetry(job));
    counts.retrying_later += Number(isRetry(job) && !isDue);
  }
  const isDue = (job: StoredJob): number => Number(isWaiting(job, store.clock.now()));
  const next = own
    .filter(({ record }) => record.status !== 'running')
    .sort((a, b) => isDue(b) - isDue(a) || inClaimOrder(a, b));
  const offers = askersOf(store, queue).filter(({ slots }) => slots !== null);
  const inUse = offers.reduce((sum, { worker, slots }) => {
    return sum + Math.min(slots!, own.filter(({ record }) => record.worker_id === worker).length);
  }, 0);
  const detail: Wire.QueueDetail = {
    ...depthOf(store, queue),
    by_task: [...tasks].map(([task_name, counts]) => ({ task_name, ...counts })),
    by_task_exact: true,
    next: next.slice(0, NEXT_SHOWN).map(({ record: { id, task_name, config, scheduled_at } }) => ({
      ...{ id, task_name, priority: config.priority, scheduled_at },
    })),
    slots: offers.length === 0 ? null : { offered: offers.reduce((sum, { slots }) => sum + slots!, 0), in_use: inUse },
  };
  return ok(detail);
};

const limits: Route = (request) => {
  const queue = parameter.text(request.query, 'queue');
  const lines = [...linesOf(request.store).values()].filter((line) => queue === null || line.queue === queue);
  const uses = lines.map(({ queue: name, key, running, limit, rate, waiting }): Wire.LimitUse => ({
    ...{ queue: name, key, running, limit, waiting: waiting.length },
    rate: rate && { count: rate.count, per_secs: rate.perSecs, burst: rate.burst },
    oldest: waiting.length === 0 ? null : request.store.clock.text(Math.min(...waiting.map(({ dueAt }) => dueAt))),
  }));
  return pageByName(request, 'limits', uses, ({ queue: name, key }) => JSON.stringify([name, key]));
};

const HOUR_MS = 3_600_000;

const runningJob = ({ id, task_name, queue_name: queue }: Wire.Job, startedAt: string | null) => ({
  ...{ id, task_name, queue, started_at: startedAt ?? '' },
});

const NOTHING = {
  ...{ running: 0, running_jobs: [], completed: 0, failed: 0, expired: 0, slots: null, in_use: null, tasks: null },
};

/** Those that held jobs in the last hour, and those that ask for jobs of queues that have some, the last seen first. */
const workers: Route = ({ store }) => {
  const known = new Map<string, Wire.Worker>();
  const earlier = (one: string, other: string): string => (Date.parse(one) <= Date.parse(other) ? one : other);
  for (const { record, attempts } of store.jobs.values()) {
    for (const { worker_id: worker, outcome, started_at, ended_at } of attempts) {
      const seen = outcome === 'running' ? store.clock.text() : (ended_at ?? started_at ?? '');
      if (worker === null || store.clock.now() - Date.parse(seen) >= HOUR_MS) continue;
      const key = JSON.stringify([worker, record.queue_name]);
      const before = known.get(key) ?? {
        ...{ ...NOTHING, worker_id: worker, queue_name: record.queue_name },
        ...{ first_seen_at: started_at ?? seen, last_seen_at: seen },
      };
      known.set(key, {
        ...before,
        running: before.running + Number(outcome === 'running'),
        running_jobs:
          outcome === 'running' ? [...before.running_jobs, runningJob(record, started_at)] : before.running_jobs,
        completed: before.completed + Number(outcome === 'completed'),
        failed: before.failed + Number(outcome === 'failed'),
        expired: before.expired + Number(outcome === 'lease_expired'),
        first_seen_at: earlier(before.first_seen_at, started_at ?? seen),
        last_seen_at: earlier(before.last_seen_at, seen) === seen ? before.last_seen_at : seen,
      });
    }
  }
  for (const queue of new Set([...store.jobs.values()].map(({ record }) => record.queue_name))) {
    for (const { worker, at, slots, tasks } of askersOf(store, queue)) {
      if (worker === '') continue;
      const key = JSON.stringify([worker, queue]);
      const [seen, held] = [store.clock.text(at), known.get(key)];
      const asker = held ?? {
        ...NOTHING,
        worker_id: worker,
        queue_name: queue,
        first_seen_at: seen,
        last_seen_at: seen,
      };
      known.set(key, {
        ...{ ...asker, slots, in_use: slots === null ? null : Math.min(slots, asker.running) },
        tasks: held && tasks ? [...tasks] : null,
        last_seen_at: earlier(asker.last_seen_at, seen) === seen ? asker.last_seen_at : seen,
      });
    }
  }
  const bySeen = (a: Wire.Worker, b: Wire.Worker): number => Date.parse(b.last_seen_at) - Date.parse(a.last_seen_at);
  return ok({ workers: [...known.values()].sort(bySeen) });
};

const pause: Route = ({ store, params, body }) => {
  const [queue = ''] = params;
  const before = store.paused.get(queue);
  const reason = (body as { reason?: string | null } | undefined)?.reason ?? before?.reason ?? null;
  store.paused.set(queue, { at: before?.at ?? store.clock.text(), reason });
  return nothing;
};

const resume: Route = ({ store, params }) => {
  store.paused.delete(params[0] ?? '');
  store.changed();
  return nothing;
};

export const queueRoutes: readonly (readonly [string, string, Route])[] = [
  ['GET', '/queues', queues],
  ['GET', '/queues/:queue', queueDetail],
  ['GET', '/limits', limits],
  ['GET', '/workers', workers],
  // The fake server's token is that of a developer, who is an operator too.
  ['POST', '/admin/queues/:queue/pause', pause],
  ['POST', '/admin/queues/:queue/resume', resume],
  // No handler runs inside of it.
  ['GET', '/tasks', () => ok({ tasks: [] })],
];
