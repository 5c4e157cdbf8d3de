import type { EngineMetrics } from '../engine/shared/counters.js';
import type { Metrics } from '../telemetry/metrics.js';

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
