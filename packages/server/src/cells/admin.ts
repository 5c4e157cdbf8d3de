import {
  QUEUE_TENANTS_SHOWN,
  WORKER_JOBS_SHOWN,
  type AdminQueue,
  type AdminTenant,
  type Count,
  type QueueSettings,
  type Worker,
} from '@millrace/contract';
import { mergedPlots } from '../domain/ends-by-tenant.js';
import { isUnavailable } from '../domain/errors.js';
import { slotsTaken } from '../domain/slots-taken.js';
import type { AdminApi, AuditRead, AuditStamp, OnSeparateLimits, OnMissedCell } from '../engine/api.js';
import { AUDIT_CURSOR, cursorAfter, NAME_CURSOR, namesCursor } from '../engine/shared/cursor.js';
import { away, present, type Cell } from './cell.js';

/**
 * What operators see and do, over all cells. A read is answered with what those have that answer, and the others are
 * named. What changes a queue changes it in every cell, or the error names the one that did not answer; said again, it
 * does the same, so whoever was refused says it again.
 */
const MAX_QUEUES = 1_000;
const MAX_WORKERS = 1_000;

export function adminOver(cells: readonly Cell[]): Omit<AdminApi, 'noteRead'> {
  const all = <T>(ask: (admin: AdminApi) => Promise<T>): Promise<T[]> =>
    Promise.all(cells.map((cell) => asked(cell, ask)));
  /** Of those that answer; fails if none does. */
  const some = async <T>(missed: OnMissedCell, ask: (admin: AdminApi) => Promise<T>): Promise<T[]> => {
    const found: T[] = [];
    const refusals: unknown[] = [];
    const names = new Set<string>();
    const answers = await Promise.allSettled(cells.map((cell) => asked(cell, ask)));
    answers.forEach((answer, n) => {
      if (answer.status === 'fulfilled') return found.push(answer.value);
      if (!isUnavailable(answer.reason)) throw answer.reason as Error;
      refusals.push(answer.reason);
      return names.add(cells[n]!.name);
    });
    if (found.length === 0) throw refusals[0] as Error;
    names.forEach(missed);
    return found;
  };
  const queues = async (missed: OnMissedCell): Promise<AdminQueue[]> =>
    mergedQueues(await some(missed, (admin) => admin.queues(missed)));
  /** One instant for all of them, so that they record the same. */
  const atOnce = async (stamp: AuditStamp): Promise<AuditStamp> => ({
    ...stamp,
    at: await present(cells)[0]!.engine.api.system.now(),
  });
  /** Each database counts what runs and starts there. */
  const counted = (settings: QueueSettings, apart: OnSeparateLimits): QueueSettings => {
    if (settings.running !== null || settings.rate !== null) apart(cells.length);
    return settings;
  };
  return {
    overview: async (missed) => {
      const [parts, named] = await Promise.all([some(missed, (admin) => admin.overview(missed)), queues(missed)]);
      return mergedOverview(
        parts,
        named.filter(({ pending, scheduled, running }) => pending + scheduled + running > 0),
      );
    },
    queues,
    tenants: async (query, missed) => {
      const parts = await some(missed, (admin) => admin.tenants(query, missed));
      const { items, last } = page(
        parts.map(({ tenants, nextCursor }) => ({ items: tenants, nextCursor })),
        query.limit,
        ({ tenant_id }) => [tenant_id],
      );
      return { tenants: items, nextCursor: last === null ? null : cursorAfter(NAME_CURSOR, last.tenant_id) };
    },
    workers: async (missed) => mergedWorkers((await some(missed, (admin) => admin.workers(missed))).flat()),
    series: async (query, missed) => mergedPlots(await some(missed, (admin) => admin.series(query, missed))),
    limits: async (query, missed) => {
      const parts = await some(missed, (admin) => admin.limits(query, missed));
      const { items, last } = page(
        parts.map(({ limits, nextCursor }) => ({ items: limits, nextCursor })),
        query.limit,
        ({ tenant_id, queue, key }) => [tenant_id, queue, key],
      );
      const after = last && cursorAfter(namesCursor(3), [last.tenant_id, last.queue, last.key]);
      return { limits: items, nextCursor: after };
    },
    // They are the same in all.
    settings: async (queue, apart) => {
      const [settings] = await some(nobody, (admin) => admin.settings(queue, apart));
      return counted(settings!, apart);
    },
    set: async (queue, input, stamp, apart) => {
      const told = await atOnce(stamp);
      const [settings] = await all((admin) => admin.set(queue, input, told, apart));
      return counted(settings!, apart);
    },
    pause: async (queue, reason, stamp) => {
      const told = await atOnce(stamp);
      await all((admin) => admin.pause(queue, reason, told));
    },
    resume: async (queue, stamp) => {
      const told = await atOnce(stamp);
      await all((admin) => admin.resume(queue, told));
    },
    audit: async (query, missed) => mergedAudit(await some(missed, (admin) => admin.audit(query, missed)), query.limit),
  };
}

const nobody: OnMissedCell = () => undefined;

async function asked<T>(cell: Cell, ask: (admin: AdminApi) => Promise<T>): Promise<T> {
  if (cell.isAway()) throw away(cell);
  return ask(cell.engine.api.admin).catch((error: unknown) => {
    throw isUnavailable(error) ? away(cell, error) : error;
  });
}

/** The first of the pages in the order of `keyOf`; `last`: where the next one begins, if there is more. */
function page<T>(
  parts: readonly { readonly items: readonly T[]; readonly nextCursor: string | null }[],
  limit: number,
  keyOf: (item: T) => readonly string[],
): { readonly items: T[]; readonly last: T | null } {
  const sorted = parts.flatMap((part) => part.items).sort((a, b) => compareNames(keyOf(a), keyOf(b)));
  const items = sorted.slice(0, limit);
  const hasMore = sorted.length > limit || parts.some(({ nextCursor }) => nextCursor !== null);
  return { items, last: hasMore ? (items.at(-1) ?? null) : null };
}

/** By their bytes, as the database sorts names. */
function compareNames(a: readonly string[], b: readonly string[]): number {
  for (let n = 0; n < a.length; n++) {
    const order = Buffer.compare(Buffer.from(a[n]!), Buffer.from(b[n]!));
    if (order !== 0) return order;
  }
  return 0;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

const most = (numbers: readonly (number | null)[]): number | null =>
  numbers.reduce((max, n) => (n === null || (max !== null && max >= n) ? max : n), null);

/** Instants of the service have no fixed number of digits, but all end in Z. */
const latest = (instants: readonly (string | null)[]): string | null =>
  instants.reduce(
    (last, at) => (at === null || (last !== null && Date.parse(last) >= Date.parse(at)) ? last : at),
    null,
  );

/** Counts of long queues are kept for a while: nothing in the answer is older than this. */
const earliest = (instants: readonly string[]): string =>
  instants.reduce((first, at) => (compareNames([withoutZ(at)], [withoutZ(first)]) < 0 ? at : first));

const summed = (counts: readonly Count[]): Count => ({
  n: sum(counts.map(({ n }) => n)),
  exact: counts.every(({ exact }) => exact),
});

function mergedCounts<K extends string>(parts: readonly Readonly<Record<K, Count>>[]): Record<K, Count> {
  const names = Object.keys(parts[0]!) as K[];
  return Object.fromEntries(names.map((name) => [name, summed(parts.map((part) => part[name]))])) as Record<K, Count>;
}

type Overview = Awaited<ReturnType<AdminApi['overview']>>;

function mergedOverview(parts: readonly Overview[], busy: readonly AdminQueue[]): Overview {
  return {
    now: earliest(parts.map(({ now }) => now)),
    tenants: sum(parts.map(({ tenants }) => tenants)),
    queues: Math.max(busy.length, ...parts.map(({ queues }) => queues)),
    paused_queues: [...new Set(parts.flatMap((part) => part.paused_queues))].sort().slice(0, MAX_QUEUES),
    jobs: mergedCounts(parts.map(({ jobs }) => jobs)),
    dead_letters: summed(parts.map((part) => part.dead_letters)),
    workflows: mergedCounts(parts.map(({ workflows }) => workflows)),
    oldest_pending_age_secs: most(parts.map((part) => part.oldest_pending_age_secs)),
    oldest_past_retention_secs: most(parts.map((part) => part.oldest_past_retention_secs)),
  };
}

const held = ({ pending, scheduled, running }: AdminTenant): number => pending + scheduled + running;

function mergedQueues(parts: readonly (readonly AdminQueue[])[]): AdminQueue[] {
  const byName = new Map<string, AdminQueue>();
  for (const queue of parts.flat()) {
    const known = byName.get(queue.queue);
    byName.set(queue.queue, known === undefined ? queue : bothOf(known, queue));
  }
  const size = ({ pending, scheduled, running }: AdminQueue): number => pending + scheduled + running;
  return [...byName.values()]
    .sort((a, b) => Number(b.paused_at !== null) - Number(a.paused_at !== null) || size(b) - size(a))
    .slice(0, MAX_QUEUES)
    .sort((a, b) => compareNames([a.queue], [b.queue]));
}

const bothOf = (a: AdminQueue, b: AdminQueue): AdminQueue => ({
  ...a,
  pending: a.pending + b.pending,
  scheduled: a.scheduled + b.scheduled,
  retrying: a.retrying + b.retrying,
  retrying_later: a.retrying_later + b.retrying_later,
  running: a.running + b.running,
  oldest_pending_age_secs: most([a.oldest_pending_age_secs, b.oldest_pending_age_secs]),
  ...pauseOf(a.paused_at === null ? b : a),
  last_lease_at: latest([a.last_lease_at, b.last_lease_at]),
  settings: a.settings ?? b.settings,
  tenants: [...a.tenants, ...b.tenants].sort((one, two) => held(two) - held(one)).slice(0, QUEUE_TENANTS_SHOWN),
});

const pauseOf = ({ paused_at, paused_reason, paused_by }: AdminQueue) => ({ paused_at, paused_reason, paused_by });

/** What concerns all of them is the same entry in each that it changed. */
function mergedAudit(parts: readonly AuditRead[], limit: number): AuditRead {
  const known = new Map(parts.flatMap(({ entries }) => entries).map((entry) => [entry.id, entry]));
  const sorted = [...known.values()].sort(
    (a, b) => compareNames([withoutZ(b.at)], [withoutZ(a.at)]) || compareNames([b.id], [a.id]),
  );
  const entries = sorted.slice(0, limit);
  const last = entries.at(-1);
  const hasMore = sorted.length > limit || parts.some(({ nextCursor }) => nextCursor !== null);
  return { entries, nextCursor: hasMore && last ? cursorAfter(AUDIT_CURSOR, last) : null };
}

/** Then they can be compared as text, however many fractional digits they have. */
const withoutZ = (at: string): string => at.replace('Z', '');

function mergedWorkers(workers: readonly Worker[]): Worker[] {
  const known = new Map<string, Worker>();
  for (const worker of workers) {
    const key = `${worker.worker_id}\0${worker.queue_name}`;
    const other = known.get(key);
    known.set(key, other === undefined ? worker : workerOf(other, worker));
  }
  return [...known.values()]
    .sort(
      (a, b) => Date.parse(b.last_seen_at) - Date.parse(a.last_seen_at) || compareNames([a.worker_id], [b.worker_id]),
    )
    .slice(0, MAX_WORKERS);
}

const workerOf = (a: Worker, b: Worker): Worker => ({
  ...a,
  ...slotsOf(a, b),
  running: a.running + b.running,
  running_jobs: [...a.running_jobs, ...b.running_jobs]
    .sort((one, two) => Date.parse(one.started_at) - Date.parse(two.started_at))
    .slice(0, WORKER_JOBS_SHOWN),
  completed: a.completed + b.completed,
  failed: a.failed + b.failed,
  expired: a.expired + b.expired,
  first_seen_at: a.first_seen_at < b.first_seen_at ? a.first_seen_at : b.first_seen_at,
  last_seen_at: latest([a.last_seen_at, b.last_seen_at])!,
  tasks: a.tasks ?? b.tasks,
});

/** It offers the same slots everywhere. */
function slotsOf(a: Worker, b: Worker): Pick<Worker, 'slots' | 'in_use'> {
  const slots = a.slots ?? b.slots;
  return { slots, in_use: slots === null ? null : slotsTaken((a.in_use ?? 0) + (b.in_use ?? 0), slots) };
}
