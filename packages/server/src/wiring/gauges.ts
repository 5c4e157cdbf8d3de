import type { EngineParts } from '../engine/engine.js';
import type { WorkerPool } from '../pool/worker-pool.js';
import type { CollectOptions, Metrics } from '../telemetry/metrics.js';
import type { Depth } from '../telemetry/queue-labels.js';
import type { Service } from './service.js';
import type { RunningCell } from './start-cell.js';

/** Counting a million waiting jobs takes a moment, so scrapes within this time share one answer. */
const FRESH_MS = 10_000;

/** Sets the gauges that have to be asked for: at a scrape, never in between. A database that is away counts nothing. */
export function gaugeCollector(
  cells: readonly RunningCell[],
  { polls }: Pick<Service, 'polls'>,
  pool: Pick<WorkerPool, 'busy' | 'size'> | null,
): (metrics: Metrics, options: CollectOptions) => Promise<void> {
  const known = new WeakMap<RunningCell, () => Promise<DatabaseGauges>>();
  const asking = (cell: RunningCell): Promise<DatabaseGauges> => {
    const ask = known.get(cell) ?? keptAnswer(() => askDatabase(cell.engine));
    known.set(cell, ask);
    return ask();
  };
  const sum = (count: (cell: RunningCell) => number): number => cells.reduce((n, cell) => n + count(cell), 0);
  return async (metrics, { withDatabase }) => {
    metrics.longPolls.set(polls.waiting);
    metrics.jobWaits.set(sum(({ engine }) => engine.waits.waiting));
    metrics.eventStreams.set(sum(({ engine }) => engine.watcher.open + engine.workflowWatcher.open));
    for (const state of ['total', 'idle', 'waiting'] as const)
      metrics.dbConnections.set(
        { state },
        sum(({ db }) => db.connections()[state]),
      );
    metrics.poolWorkers.set({ state: 'busy' }, pool?.busy ?? 0);
    metrics.poolWorkers.set({ state: 'idle' }, pool ? pool.size - pool.busy : 0);
    metrics.cellUp.reset();
    for (const { name: cell, isAway } of cells) if (cell !== '') metrics.cellUp.set({ cell }, isAway() ? 0 : 1);
    if (!withDatabase) return;
    const answers = await Promise.allSettled(cells.map(asking));
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const failure = answers.find((answer) => answer.status === 'rejected');
    if (failure !== undefined && found.length === 0) throw failure.reason as Error;
    show(metrics, found);
  };
}

/** The same answer for FRESH_MS. A failure is not kept: the next scrape asks again. */
function keptAnswer<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | null = null;
  let askedAt = 0;
  return () => {
    if (answer !== null && performance.now() - askedAt <= FRESH_MS) return answer;
    askedAt = performance.now();
    answer = ask();
    answer.catch(() => (answer = null));
    return answer;
  };
}

function show(metrics: Metrics, found: readonly DatabaseGauges[]): void {
  const sum = (count: (gauges: DatabaseGauges) => number): number => found.reduce((n, each) => n + count(each), 0);
  const most = (secs: (gauges: DatabaseGauges) => number): number => Math.max(0, ...found.map(secs));
  metrics.limitsWaiting.set(sum(({ limits }) => limits.waiting));
  metrics.limitsOldestAge.set(most(({ limits }) => limits.oldestSecs ?? 0));
  metrics.jobsSuspended.set(
    { for: 'sleep' },
    sum(({ suspended }) => suspended.asleep),
  );
  metrics.jobsSuspended.set(
    { for: 'signal' },
    sum(({ suspended }) => suspended.for_signals),
  );
  metrics.jobsSuspended.set(
    { for: 'children' },
    sum(({ suspended }) => suspended.for_children),
  );
  metrics.signalsStored.set(sum(({ suspended }) => suspended.signals));
  metrics.deadLetters.set(sum(({ deadLetters }) => deadLetters));
  metrics.oldestPastRetention.set(most(({ pastRetentionSecs }) => pastRetentionSecs));
  const depths = found.flatMap((each) => each.depths);
  for (const { queue, status, n } of depths) metrics.queueDepth.inc({ queue, status }, n);
  for (const [queue, age] of oldestReady(depths)) metrics.oldestReadyAge.set({ queue }, age);
}

/** The largest age per queue; a retry that is due waits like any other job. */
function oldestReady(depths: DatabaseGauges['depths']): ReadonlyMap<string, number> {
  const ages = new Map<string, number>();
  for (const { queue, oldest_age } of depths) ages.set(queue, Math.max(ages.get(queue) ?? 0, oldest_age ?? 0));
  return ages;
}

interface DatabaseGauges {
  readonly depths: readonly Depth[];
  readonly deadLetters: number;
  /** 0: nothing is. */
  readonly pastRetentionSecs: number;
  readonly limits: Awaited<ReturnType<EngineParts['limitReads']['waiting']>>;
  readonly suspended: Awaited<ReturnType<EngineParts['suspensions']['suspended']>>;
}

async function askDatabase({ reads, allTenants, limitReads, suspensions }: EngineParts): Promise<DatabaseGauges> {
  return {
    depths: await reads.depthsOfAllTenants(),
    deadLetters: await reads.deadLetterCount(),
    pastRetentionSecs: (await allTenants.oldestPastRetention()) ?? 0,
    limits: await limitReads.waiting(),
    suspended: await suspensions.suspended(),
  };
}
