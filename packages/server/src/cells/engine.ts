import type { CellMap } from '../domain/cells.js';
import { isUuid } from '../domain/ids.js';
import type { DeadLettersApi, DurableApi, Engine, JobsApi, SystemApi, WaitQuery, WaitResult } from '../engine/api.js';
import type { LongPolls } from '../engine/leases/long-poll.js';
import { adminOver } from './admin.js';
import { away, present, type Cell, type CellRouter } from './cell.js';
import { workerOver } from './worker.js';

/**
 * The use cases over several databases: what names an id goes to the cell that the id leads to, what names only a
 * tenant to the cell of the tenant, and what concerns all of them to all (admin.ts, worker.ts). An id of another
 * tenant's is refused by the cell that holds it, as if there were only one.
 */
export interface EngineOverOptions {
  readonly cells: readonly Cell[];
  readonly map: CellMap;
  readonly polls: Pick<LongPolls, 'lease'>;
  readonly ready: () => Promise<boolean>;
}

const NUMBER = /^\d{1,19}$/;

export function engineOver({ cells, map, polls, ready }: EngineOverOptions): Engine {
  const at = (index: number): Engine => {
    const cell = cells[index]!;
    if (cell.isAway()) throw away(cell);
    return cell.engine.api;
  };
  const router: CellRouter = {
    cells,
    whileHere: (id, signal) => (isUuid(id) ? AbortSignal.any([signal, cells[map.ofId(id)]!.moved()]) : signal),
    ofTenant: (tenant) => at(map.ofTenant(tenant)),
    ofId: (id) => (isUuid(id) ? at(map.ofId(id)) : present(cells)[0]!.engine.api),
  };
  const letters = (tenant: string, id: string): DeadLettersApi =>
    (NUMBER.test(id) ? at(map.ofDeadLetter(tenant, id)) : router.ofTenant(tenant)).deadLetters;
  const { ofTenant, ofId, whileHere } = router;
  return {
    jobs: jobsOver(router, map),
    worker: workerOver(router, map, polls),
    deadLetters: {
      get: async (tenant, id) => letters(tenant, id).get(tenant, id),
      list: async (tenant, query) => ofTenant(tenant).deadLetters.list(tenant, query),
      groups: async (tenant, query) => ofTenant(tenant).deadLetters.groups(tenant, query),
      replay: async (tenant, id, key, kept) => letters(tenant, id).replay(tenant, id, key, kept),
    },
    workflows: {
      create: async (tenant, spec, key) => ofTenant(tenant).workflows.create(tenant, spec, key),
      get: async (tenant, id) => ofId(id).workflows.get(tenant, id),
      list: async (tenant, query) => ofTenant(tenant).workflows.list(tenant, query),
      summaries: async (tenant, query) => ofTenant(tenant).workflows.summaries(tenant, query),
      cancel: async (tenant, id) => ofId(id).workflows.cancel(tenant, id),
      resume: async (tenant, id, spec, key) => ofId(id).workflows.resume(tenant, id, spec, key),
      previewResume: async (tenant, id, spec) => ofId(id).workflows.previewResume(tenant, id, spec),
      steps: async (tenant, id) => ofId(id).workflows.steps(tenant, id),
      watch: async (tenant, id, signal) => ofId(id).workflows.watch(tenant, id, whileHere(id, signal)),
      diagram: async (tenant, id) => ofId(id).workflows.diagram(tenant, id),
    },
    crons: {
      create: async (tenant, spec) => ofTenant(tenant).crons.create(tenant, spec),
      put: async (tenant, spec) => ofTenant(tenant).crons.put(tenant, spec),
      get: async (tenant, id) => ofId(id).crons.get(tenant, id),
      list: async (tenant, query) => ofTenant(tenant).crons.list(tenant, query),
      remove: async (tenant, id) => ofId(id).crons.remove(tenant, id),
      pause: async (tenant, id) => ofId(id).crons.pause(tenant, id),
      resume: async (tenant, id) => ofId(id).crons.resume(tenant, id),
      firings: async (tenant, id, query) => ofId(id).crons.firings(tenant, id, query),
      nextRuns: async (tenant, id, count) => ofId(id).crons.nextRuns(tenant, id, count),
      trigger: async (tenant, id, key) => ofId(id).crons.trigger(tenant, id, key),
      preview: async (timetable, count) => present(cells)[0]!.engine.api.crons.preview(timetable, count),
    },
    operations: {
      create: async (tenant, spec, key) => ofTenant(tenant).operations.create(tenant, spec, key),
      dryRun: async (tenant, spec) => ofTenant(tenant).operations.dryRun(tenant, spec),
      get: async (tenant, id) => ofId(id).operations.get(tenant, id),
      list: async (tenant, query) => ofTenant(tenant).operations.list(tenant, query),
      stop: async (tenant, id) => ofId(id).operations.stop(tenant, id),
    },
    durable: durableOver(router),
    insight: {
      counts: async (tenant, queue) => ofTenant(tenant).insight.counts(tenant, queue),
      series: async (tenant, query) => ofTenant(tenant).insight.series(tenant, query),
      queue: async (tenant, queue) => ofTenant(tenant).insight.queue(tenant, queue),
      workers: async (tenant) => ofTenant(tenant).insight.workers(tenant),
      limits: async (tenant, query) => ofTenant(tenant).insight.limits(tenant, query),
    },
    admin: {
      ...adminOver(cells),
      noteRead: async (tenant, stamp) => ofTenant(tenant).admin.noteRead(tenant, stamp),
    },
    system: systemOver(cells, map, ready),
  };
}

function jobsOver({ cells, ofTenant, ofId, whileHere }: CellRouter, map: CellMap): JobsApi {
  return {
    create: async (tenant, spec, key) => ofTenant(tenant).jobs.create(tenant, spec, key),
    createBatch: async (tenant, specs, key) => ofTenant(tenant).jobs.createBatch(tenant, specs, key),
    createItems: async (tenant, items) => ofTenant(tenant).jobs.createItems(tenant, items),
    rerun: async (tenant, id, key, kept) => ofId(id).jobs.rerun(tenant, id, key, kept),
    get: async (tenant, id) => ofId(id).jobs.get(tenant, id),
    list: async (tenant, query) => ofTenant(tenant).jobs.list(tenant, query),
    summaries: async (tenant, query) => ofTenant(tenant).jobs.summaries(tenant, query),
    ended: async (tenant, query) => ofTenant(tenant).jobs.ended(tenant, query),
    cancel: async (tenant, id) => ofId(id).jobs.cancel(tenant, id),
    watch: async (tenant, id, signal) => ofId(id).jobs.watch(tenant, id, whileHere(id, signal)),
    attempts: async (tenant, id) => ofId(id).jobs.attempts(tenant, id),
    logs: async (tenant, id, query, signal) => ofId(id).jobs.logs(tenant, id, query, whileHere(id, signal)),
    runNow: async (tenant, id) => ofId(id).jobs.runNow(tenant, id),
    wait: async (tenant, id, secs, signal) => ofId(id).jobs.wait(tenant, id, secs, signal),
    waitForMany: async (tenant, query, signal) => {
      const isOwn = (id: string): boolean => !isUuid(id) || map.ofId(id) === map.ofTenant(tenant);
      const others = query.ids.filter((id) => !isOwn(id));
      const home = ofTenant(tenant).jobs;
      if (others.length === 0) return home.waitForMany(tenant, query, signal);
      // Those are refused if they are another tenant's, and otherwise unknown: there is nothing to wait for.
      const now: WaitQuery = { ids: others, until: 'all', waitSecs: 0 };
      for (const ids of byCell(others, map)) {
        const cell = cells[map.ofId(ids[0]!)]!;
        await ofId(ids[0]!)
          .jobs.waitForMany(tenant, { ...now, ids }, signal)
          .catch((error: unknown) => {
            throw cell.isAway() ? away(cell, error) : error;
          });
      }
      const own = query.ids.filter(isOwn);
      const found = own.length === 0 ? NONE : await home.waitForMany(tenant, { ...query, ids: own }, signal);
      const keyOf = (id: string): string => (isUuid(id) ? id.toLowerCase() : id);
      const missing = new Set([...found.missing, ...others].map(keyOf));
      const asked = new Map(query.ids.map((id) => [keyOf(id), id]));
      return { ...found, missing: [...asked].flatMap(([key, id]) => (missing.has(key) ? id : [])) };
    },
    why: async (tenant, id) => ofId(id).jobs.why(tenant, id),
    queues: async (tenant, query) => ofTenant(tenant).jobs.queues(tenant, query),
  };
}

const NONE: WaitResult = { ended: [], pending: [], missing: [] };

function byCell(ids: readonly string[], map: CellMap): string[][] {
  const groups = new Map<number, string[]>();
  for (const id of ids) {
    const cell = map.ofId(id);
    groups.set(cell, [...(groups.get(cell) ?? []), id]);
  }
  return [...groups.values()];
}

function durableOver({ ofTenant, ofId }: CellRouter): DurableApi {
  return {
    checkpoints: async (tenant, id) => ofId(id).durable.checkpoints(tenant, id),
    checkpointsOfLease: async (id, token) => ofId(id).durable.checkpointsOfLease(id, token),
    signal: async (tenant, signal, key) => ofTenant(tenant).durable.signal(tenant, signal, key),
    signalJob: async (tenant, id, name, value, key) => ofId(id).durable.signalJob(tenant, id, name, value, key),
    signalWorkflow: async (tenant, id, name, value, key) =>
      ofId(id).durable.signalWorkflow(tenant, id, name, value, key),
    waits: async (tenant, query) => ofTenant(tenant).durable.waits(tenant, query),
  };
}

function systemOver(cells: readonly Cell[], map: CellMap, ready: () => Promise<boolean>): SystemApi {
  const any = (): SystemApi => present(cells)[0]!.engine.api.system;
  return {
    ready,
    cells: () => cells.map(({ name, isAway }) => ({ name, up: !isAway() })),
    tasks: async () => any().tasks(),
    unregistered: async (tasks) => any().unregistered(tasks),
    now: async () => any().now(),
    stats: (tenant) => cells[map.ofTenant(tenant)]!.engine.api.system.stats(tenant),
  };
}
