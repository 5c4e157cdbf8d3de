import type { Run } from '../invocation/context.js';
import type { Invocation } from '../invocation/invocation.js';
import type { Options, Spec } from '../specs/spec.js';
import * as cells from '../specs/cells.js';
import * as cron from '../specs/cron.js';
import * as dlq from '../specs/dlq.js';
import * as jobs from '../specs/jobs.js';
import * as local from '../specs/local.js';
import * as operations from '../specs/operations.js';
import * as outbox from '../specs/outbox.js';
import * as queues from '../specs/queues.js';
import * as server from '../specs/server.js';
import * as signals from '../specs/signals.js';
import * as workflows from '../specs/workflows.js';

/**
 * A command and how to load it. Commands about a server load the SDK, those that are the server load all of that:
 * neither is loaded before it is called.
 */
export type Command =
  | { readonly spec: Spec; readonly load: () => Promise<Run<Options>> }
  | { readonly spec: Spec; readonly serve: () => Promise<(invocation: Invocation) => Promise<number>> };

const command = <O extends Options>(spec: Spec<O>, load: () => Promise<Run<O>>): Command => ({
  spec,
  // The parser gives each command the options that its definition declares.
  load: load as unknown as () => Promise<Run<Options>>,
});

const serving = <O extends Options>(
  spec: Spec<O>,
  serve: () => Promise<(invocation: Invocation) => Promise<number>>,
): Command => ({
  spec,
  serve,
});

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  command(jobs.run, async () => (await import('../commands/run.js')).run),
  command(jobs.jobsList, async () => (await import('../commands/jobs.js')).list),
  command(jobs.jobsGet, async () => (await import('../commands/jobs.js')).get),
  command(jobs.jobsCreate, async () => (await import('../commands/jobs.js')).create),
  command(jobs.jobsImport, async () => (await import('../commands/jobs-import.js')).importJobs),
  command(jobs.jobsWatch, async () => (await import('../commands/jobs-wait.js')).watch),
  command(jobs.jobsWait, async () => (await import('../commands/jobs-wait.js')).wait),
  command(jobs.jobsCancel, async () => (await import('../commands/jobs-change.js')).cancel),
  command(jobs.jobsRerun, async () => (await import('../commands/jobs-change.js')).rerun),
  command(jobs.jobsRunNow, async () => (await import('../commands/jobs-change.js')).runNow),
  command(jobs.jobsAttempts, async () => (await import('../commands/jobs.js')).attempts),
  command(jobs.jobsWhy, async () => (await import('../commands/jobs.js')).why),
  command(jobs.jobsLogs, async () => (await import('../commands/jobs-logs.js')).logs),
  command(jobs.tail, async () => (await import('../commands/tail.js')).tail),
  command(jobs.jobsCheckpoints, async () => (await import('../commands/jobs-checkpoints.js')).checkpoints),
  command(signals.signal, async () => (await import('../commands/signals.js')).signal),
  command(signals.waits, async () => (await import('../commands/signals.js')).waits),
  command(dlq.dlqList, async () => (await import('../commands/dlq.js')).list),
  command(dlq.dlqGroups, async () => (await import('../commands/dlq.js')).groups),
  command(dlq.dlqGet, async () => (await import('../commands/dlq.js')).get),
  command(dlq.dlqReplay, async () => (await import('../commands/dlq.js')).replay),
  command(workflows.workflowsList, async () => (await import('../commands/workflows.js')).list),
  command(workflows.workflowsGet, async () => (await import('../commands/workflows.js')).get),
  command(workflows.workflowsStart, async () => (await import('../commands/workflows.js')).start),
  command(workflows.workflowsWatch, async () => (await import('../commands/workflows.js')).watch),
  command(workflows.workflowsCancel, async () => (await import('../commands/workflows.js')).cancel),
  command(workflows.workflowsResume, async () => (await import('../commands/workflows-resume.js')).resume),
  command(workflows.workflowsDiagram, async () => (await import('../commands/workflows.js')).diagram),
  command(cron.cronList, async () => (await import('../commands/cron.js')).list),
  command(cron.cronPut, async () => (await import('../commands/cron.js')).put),
  command(cron.cronNext, async () => (await import('../commands/cron.js')).next),
  command(cron.cronFirings, async () => (await import('../commands/cron.js')).firings),
  command(cron.cronTrigger, async () => (await import('../commands/cron.js')).trigger),
  command(cron.cronPause, async () => (await import('../commands/cron.js')).pause),
  command(cron.cronResume, async () => (await import('../commands/cron.js')).resume),
  command(cron.cronDelete, async () => (await import('../commands/cron.js')).remove),
  command(queues.queues, async () => (await import('../commands/queues.js')).queues),
  command(queues.queuesGet, async () => (await import('../commands/queues.js')).queuesGet),
  command(queues.queuesPause, async () => (await import('../commands/queues.js')).queuesPause),
  command(queues.queuesResume, async () => (await import('../commands/queues.js')).queuesResume),
  command(queues.queuesSet, async () => (await import('../commands/queues-set.js')).queuesSet),
  command(queues.limitsList, async () => (await import('../commands/queues.js')).limitsList),
  command(queues.audit, async () => (await import('../commands/queues.js')).audit),
  command(queues.workers, async () => (await import('../commands/queues.js')).workers),
  command(operations.operationsList, async () => (await import('../commands/operations.js')).list),
  command(operations.operationsGet, async () => (await import('../commands/operations.js')).get),
  command(operations.operationsWatch, async () => (await import('../commands/operations.js')).watch),
  command(operations.operationsStop, async () => (await import('../commands/operations.js')).stop),
  command(local.worker, async () => (await import('../commands/worker.js')).worker),
  command(local.configShow, async () => (await import('../commands/config.js')).show),
  command(local.configSet, async () => (await import('../commands/config.js')).set),
  command(local.configUse, async () => (await import('../commands/config.js')).use),
  command(local.completion, async () => (await import('../commands/completion.js')).completion),
  command(local.open, async () => (await import('../commands/open.js')).open),
  serving(server.serve, async () => (await import('../server/serve.js')).serve),
  serving(server.dev, async () => (await import('../server/serve.js')).dev),
  serving(server.migrate, async () => (await import('../server/migrate.js')).migrateCommand),
  serving(server.doctor, async () => (await import('../server/doctor.js')).doctor),
  serving(cells.cellsStatus, async () => (await import('../server/cells.js')).status),
  serving(cells.cellsPrepare, async () => (await import('../server/cells.js')).prepare),
  serving(cells.cellsSplit, async () => (await import('../server/cells.js')).split),
  serving(cells.cellsMove, async () => (await import('../server/cells.js')).move),
  serving(outbox.relay, async () => (await import('../server/relay.js')).relay),
  serving(outbox.outboxInstall, async () => (await import('../server/outbox.js')).install),
  serving(outbox.outboxSql, async () => (await import('../server/outbox.js')).sql),
  serving(outbox.outboxStatus, async () => (await import('../server/outbox.js')).status),
  serving(outbox.outboxRetry, async () => (await import('../server/outbox.js')).retry),
  serving(outbox.outboxPrune, async () => (await import('../server/outbox.js')).prune),
  serving(outbox.outboxUninstall, async () => (await import('../server/outbox.js')).uninstall),
  serving(server.openapi, async () => (await import('../server/openapi.js')).openApi),
];
