import type { EngineMetrics } from '../engine/shared/counters.js';
import type { EngineParts } from '../engine/engine.js';
import type { WorkerPool } from '../pool/worker-pool.js';
import type { Database } from '../store/connection/database.js';
import type { CollectOptions, Metrics } from '../telemetry/metrics.js';
import type { Depth } from '../telemetry/queue-labels.js';

/** Counts the engine's events as metrics. Series are looked up once, because these run for every job. */
export function engineMetrics(metrics: Metrics): EngineMetrics {
  const wait = metrics.jobWait.series();
  const claim = metrics.claim.series();
  const sweep = metrics.sweep.series();
  const cronLag = metrics.cronLag.series();
  const completed = metrics.jobRun.series('completed');
  const retried = metrics.jobRun.series('retrying');
  const failed = metrics.jobRun.series('failed');
  return {
    created: (n) => metrics.jobsCreated.inc(n),
    happened: (event, { queue, task }) => metrics.taskJobs.inc(queue, task, event),
    claimed: (n, seconds) => {
      metrics.jobsClaimed.inc(n);
      claim.observe(seconds);
    },
    waited: (seconds) => wait.observe(seconds),
    completed: (runSeconds) => {
      metrics.jobsCompleted.inc();
      completed.observe(runSeconds);
    },
    retried: (runSeconds) => {
      metrics.jobsRetried.inc();
      retried.observe(runSeconds);
    },
    failed: (reason, runSeconds) => {
      metrics.jobsFailed.inc({ reason });
      failed.observe(runSeconds);
    },
    cancelled: () => metrics.jobsCancelled.inc(),
    expired: (n) => metrics.leasesExpired.inc(n),
    admitted: (n) => metrics.limitsAdmitted.inc(n),
    stale: (operation) => metrics.staleTokens.inc({ operation }),
    untaken: (how, n) => metrics.signalsUntaken.inc({ how }, n),
    swept: (seconds) => sweep.observe(seconds),
    retentionLag: (seconds) => metrics.retentionLag.set(seconds),
    cronFired: (kind, lagSeconds) => {
      metrics.cronFirings.inc({ kind });
      cronLag.observe(lagSeconds);
    },
    workflowEnded: (outcome) => metrics.workflows.inc({ outcome }),
  };
}

/** Counting a million waiting jobs takes a moment, so scrapes within this time share one answer. */
const FRESH_MS = 10_000;

/** Sets the gauges that have to be asked for: at a scrape, never in between. */
export function gaugeCollector(
  db: Database,
  engine: EngineParts,
  pool: Pick<WorkerPool, 'busy' | 'size'> | null,
): (metrics: Metrics, options: CollectOptions) => Promise<void> {
  let answer: Promise<DatabaseGauges> | null = null;
  let askedAt = 0;
  return async (metrics, { withDatabase }) => {
    metrics.longPolls.set(engine.polls.waiting);
    metrics.jobWaits.set(engine.waits.waiting);
    metrics.eventStreams.set(engine.watcher.open + engine.workflowWatcher.open);
    for (const [state, n] of Object.entries(db.connections())) metrics.dbConnections.set({ state }, n);
    metrics.poolWorkers.set({ state: 'busy' }, pool?.busy ?? 0);
    metrics.poolWorkers.set({ state: 'idle' }, pool ? pool.size - pool.busy : 0);
    if (!withDatabase) return;
    if (answer === null || performance.now() - askedAt > FRESH_MS) {
      askedAt = performance.now();
      answer = askDatabase(engine);
      // A failure is not kept: the next scrape asks again.
      answer.catch(() => (answer = null));
    }
    const { depths, deadLetters, pastRetentionSecs, limits, suspended } = await answer;
    metrics.limitsWaiting.set(limits.waiting);
    metrics.limitsOldestAge.set(limits.oldestSecs ?? 0);
    metrics.jobsSuspended.set({ for: 'sleep' }, suspended.asleep);
    metrics.jobsSuspended.set({ for: 'signal' }, suspended.for_signals);
    metrics.jobsSuspended.set({ for: 'children' }, suspended.for_children);
    metrics.signalsStored.set(suspended.signals);
    metrics.deadLetters.set(deadLetters);
    metrics.oldestPastRetention.set(pastRetentionSecs);
    for (const { queue, status, n } of depths) metrics.queueDepth.set({ queue, status }, n);
    for (const [queue, age] of oldestReady(depths)) metrics.oldestReadyAge.set({ queue }, age);
  };
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
