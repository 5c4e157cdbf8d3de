import type { Database } from '../store/connection/database.js';
import { Audit } from './shared/audit.js';
import { Attempts } from './jobs/attempts.js';
import { Canceller } from './jobs/cancel.js';
import { Claimer } from './leases/claim.js';
import { CronFirer } from './crons/cron-firer.js';
import { Crons } from './crons/crons.js';
import { WorkflowFirings } from './crons/workflow-firings.js';
import { DeadLetters } from './jobs/dead-letters.js';
import { Definitions } from './workflows/definitions.js';
import { Enqueuer } from './jobs/enqueue.js';
import { EventStreams } from './shared/event-streams.js';
import { Hub } from './shared/hub.js';
import { Idempotency } from './shared/idempotency.js';
import { LeaseKeeper } from './leases/lease-keeper.js';
import { Admitter } from './limits/admitter.js';
import { Mending } from './limits/mending.js';
import { LimitReads } from './limits/limit-reads.js';
import { LongPolls } from './leases/long-poll.js';
import { Counters, type EngineMetrics } from './shared/counters.js';
import { Ends } from './jobs/ends.js';
import { Logs } from './jobs/logs.js';
import { Maintenance } from './jobs/maintenance.js';
import { Processes } from './shared/processes.js';
import { Pauses } from './leases/pauses.js';
import { RegisteredTasks } from './shared/registered-tasks.js';
import { QueueGates } from './leases/queue-gates.js';
import { Offers } from './shared/offers.js';
import { QueuePresence } from './shared/queue-presence.js';
import { QueueDepths } from './jobs/queue-depths.js';
import { Reads } from './jobs/reads.js';
import { Operations } from './operations/operations.js';
import { OperationWork } from './operations/operation-work.js';
import { Rerunner } from './jobs/rerun.js';
import { Counts } from './insight/counts.js';
import { AllTenants } from './insight/all-tenants.js';
import { QueueDetails } from './insight/queue-detail.js';
import { Series } from './insight/series.js';
import { SeriesRecorder } from './shared/series-recorder.js';
import { WorkerRecorder } from './shared/worker-recorder.js';
import { Workers } from './insight/workers.js';
import { BundleSettler } from './outcomes/bundles.js';
import { Expiry } from './outcomes/expiry.js';
import { Settler } from './outcomes/settle.js';
import { StepSettler } from './workflows/step-settler.js';
import { Tenants } from './shared/tenants.js';
import type { LeasedJob } from '../domain/records.js';
import type { Engine } from './api.js';
import { JobWaits } from './jobs/wait.js';
import { Watcher } from './jobs/watch.js';
import { Explainer } from './jobs/why.js';
import { FamilySweep } from './jobs/family-sweep.js';
import { Checkpoints } from './durable/checkpoints.js';
import { Children } from './durable/children.js';
import { Durable } from './jobs/durable.js';
import { Parents } from './durable/parents.js';
import { Signals } from './durable/signals.js';
import { StepEnder } from './durable/step-ender.js';
import { Suspender } from './durable/suspender.js';
import { Waits } from './durable/waits.js';
import { RunNow } from './jobs/run-now.js';
import { RemoteWorker } from './jobs/remote-worker.js';
import type { WorkflowWatcher } from './workflows/watch.js';
import { Resumer } from './workflows/resumer.js';
import { Workflows } from './workflows/workflows.js';

export interface EngineOptions {
  readonly db: Database;
  readonly metrics: EngineMetrics;
  readonly tasks: readonly string[];
  /** Whether other processes run handlers that this one does not know. */
  readonly asksOthersForTasks?: boolean;
  /** Where the steps of workflows run. */
  readonly defaultQueue: string;
  /** Bounds each payload, result and context. */
  readonly maxPayloadBytes: number;
  /** How long finished jobs are kept; null or absent: for ever. */
  readonly retentionHours?: number | null;
  readonly ready: () => Promise<boolean>;
  /** Uniform in [0, 1): jitter. Tests pass their own. */
  readonly random?: () => number;
  /** How often queues on which callers wait are looked at without any news. */
  readonly safetyPollMs?: number | undefined;
}

/** The use cases, wired to each other. `api` is what HTTP sees; the loops work with the parts. */
export interface EngineParts {
  readonly api: Engine;
  readonly hub: Hub;
  readonly counters: Counters;
  readonly claimer: Claimer;
  readonly settler: Settler;
  readonly bundles: BundleSettler;
  readonly keeper: LeaseKeeper;
  readonly maintenance: Maintenance;
  readonly cronFirer: CronFirer;
  readonly reads: Reads;
  readonly series: Series;
  readonly workers: Workers;
  readonly polls: LongPolls;
  readonly watcher: Watcher;
  readonly operationWork: OperationWork;
  readonly workflowWatcher: WorkflowWatcher;
  readonly waits: JobWaits;
  readonly presence: QueuePresence;
  readonly offers: Offers;
  readonly allTenants: AllTenants;
  readonly processes: Processes;
  readonly admitter: Admitter;
  readonly mending: Mending;
  readonly gates: QueueGates;
  readonly expiry: Expiry;
  readonly limitReads: LimitReads;
  readonly suspensions: Waits;
  readonly checkpoints: Checkpoints;
  readonly suspender: Suspender;
  readonly children: Children;
  readonly logs: Logs;
  readonly family: FamilySweep;
  readonly stepEnder: StepEnder;
}

export function createEngine({
  db,
  metrics,
  tasks,
  asksOthersForTasks = false,
  defaultQueue,
  ready,
  maxPayloadBytes,
  retentionHours = null,
  random = Math.random,
  safetyPollMs,
}: EngineOptions): EngineParts {
  const hub = new Hub();
  const recorder = new SeriesRecorder();
  const workerRecorder = new WorkerRecorder();
  const counters = new Counters(metrics, recorder, workerRecorder);
  const presence = new QueuePresence(db.run);
  const offers = new Offers(db);
  const processes = new Processes(db);
  const registered = new RegisteredTasks(processes, asksOthersForTasks ? [] : tasks);
  const reads = new Reads(db);
  const queueDepths = new QueueDepths(db, presence);
  const series = new Series(db, recorder, metrics);
  const workers = new Workers(db, workerRecorder, offers);
  const counts = new Counts(db);
  const queueDetails = new QueueDetails(db, queueDepths, presence, offers);
  const allTenants = new AllTenants(db, presence, retentionHours);
  const audit = new Audit(db);
  const pauses = new Pauses(audit, hub);
  const tenants = new Tenants(db);
  const admitter = new Admitter(db, hub, metrics);
  const expiry = new Expiry(db, hub, counters);
  const definitions = new Definitions();
  const keys = new Idempotency(db, retentionHours);
  const enqueuer = new Enqueuer(db, hub, counters, tenants, keys);
  const rerunner = new Rerunner(reads, enqueuer);
  const gates = new QueueGates(db, hub, audit);
  const claimer = new Claimer(db, hub, counters, presence, offers, gates);
  const stepSettler = new StepSettler(db, hub, counters, definitions, defaultQueue, maxPayloadBytes);
  const settler = new Settler(db, hub, counters, stepSettler, random);
  const bundles = new BundleSettler(db, hub, counters);
  const undeliver = async (jobs: readonly LeasedJob[]): Promise<void> => {
    await Promise.all(jobs.map((leased) => settler.giveBack(leased, 'undelivered')));
  };
  const keeper = new LeaseKeeper(db, workerRecorder, defaultQueue);
  const polls = new LongPolls(claimer, hub, { undeliver }, safetyPollMs);
  const streams = new EventStreams();
  const checkpoints = new Checkpoints(db, maxPayloadBytes);
  const suspensions = new Waits(db, metrics);
  const suspender = new Suspender(db, hub, counters, maxPayloadBytes);
  const children = new Children(db, (execute, tenant, specs) => enqueuer.createChildren(execute, tenant, specs));
  const watcher = new Watcher(db, hub, reads, streams, suspensions);
  const waits = new JobWaits(db, hub, reads);
  const limitReads = new LimitReads(db);
  const explainer = new Explainer(db, reads, presence, offers, limitReads, suspensions, gates);
  const resumer = new Resumer({ db, hub, counters, keys, definitions, defaultQueue, maxContextBytes: maxPayloadBytes });
  const workflows = new Workflows({
    db,
    hub,
    counters,
    tenants,
    keys,
    definitions,
    stepSettler,
    resumer,
    defaultQueue,
    streams,
  });
  const workflowFirings = new WorkflowFirings(db, workflows.starts, keys.lifeSecs);
  const signals = new Signals(db, hub, keys, reads, metrics);
  const durable = new Durable(reads, checkpoints, suspensions, signals, workflows);
  const attempts = new Attempts(db, reads);
  const logs = new Logs(db, reads);
  const ends = new Ends(db, reads);
  const runNow = new RunNow(db, hub, reads, suspensions);
  const operationWork = new OperationWork(db, hub, counters, stepSettler, resumer);
  const canceller = new Canceller(db, hub, counters, reads, stepSettler);

  const api: Engine = {
    jobs: {
      create: (tenant, spec, key) => enqueuer.create(tenant, spec, key),
      createBatch: (tenant, specs, key) => enqueuer.createBatch(tenant, specs, key),
      createItems: (tenant, items) => enqueuer.createItems(tenant, items),
      rerun: (tenant, id, key, kept) => rerunner.rerun(tenant, id, key, kept),
      get: async (tenant, id) => attempts.shownOn(await suspensions.shownOn(await reads.job(tenant, id))),
      list: (tenant, query) => reads.jobs(tenant, query),
      summaries: (tenant, query) => reads.summaries(tenant, query),
      ended: (tenant, query) => ends.page(tenant, query),
      cancel: (tenant, id) => canceller.cancel(tenant, id),
      watch: (tenant, id, signal) => watcher.watch(tenant, id, signal),
      wait: async (tenant, id, waitSecs, signal) => attempts.shownOn(await waits.job(tenant, id, waitSecs, signal)),
      waitForMany: (tenant, query, signal) => waits.jobs(tenant, query, signal),
      why: (tenant, id) => explainer.why(tenant, id),
      attempts: (tenant, id) => attempts.of(tenant, id),
      logs: (tenant, id, query, signal) => logs.page(tenant, id, query, signal),
      runNow: (tenant, id) => runNow.run(tenant, id),
      queues: (tenant, query) => queueDepths.page(tenant, query),
    },
    worker: new RemoteWorker({
      db,
      hub,
      keeper,
      polls,
      settler,
      counters,
      checkpoints,
      suspender,
      children,
      logs,
    }),
    deadLetters: new DeadLetters(db, hub, counters, keys),
    workflows,
    crons: new Crons({ db, hub, counters, tenants, keys, workflows: workflows.starts, workflowFirings }),
    operations: new Operations(db, operationWork, keys),
    durable,
    insight: {
      counts: (tenant, queue) => counts.of(tenant, queue),
      series: (tenant, query) => series.plot(tenant, query),
      queue: (tenant, queue) => queueDetails.of(tenant, queue),
      workers: (tenant) => workers.of(tenant),
      limits: (tenant, query) => limitReads.page(tenant, query),
    },
    admin: {
      overview: () => allTenants.overview(),
      queues: () => allTenants.queues(),
      tenants: (query) => allTenants.tenants(query),
      workers: () => workers.all(),
      series: (query) => series.endsByTenant(query),
      limits: (query) => limitReads.pageOfAll(query),
      settings: (queue) => gates.settings(queue),
      set: (queue, settings, stamp) => gates.set(queue, settings, stamp),
      pause: (queue, reason, stamp) => pauses.pause(queue, reason, stamp),
      resume: (queue, stamp) => pauses.resume(queue, stamp),
      audit: (query) => audit.page(query),
      noteRead: (tenant, stamp) => audit.noteRead(tenant, stamp),
    },
    system: {
      ready,
      tasks: () => (asksOthersForTasks ? processes.tasksBeside(tasks) : Promise.resolve(tasks)),
      unregistered: (names) => registered.missing(names),
      now: () => processes.now(),
      stats: (tenant) => counters.of(tenant),
    },
  };
  return {
    api,
    hub,
    counters,
    claimer,
    settler,
    bundles,
    keeper,
    maintenance: new Maintenance(db, settler, bundles, counters, keys, suspensions),
    cronFirer: new CronFirer(db, hub, counters, workflowFirings),
    reads,
    series,
    workers,
    polls,
    watcher,
    operationWork,
    workflowWatcher: workflows.watcher,
    waits,
    presence,
    offers,
    allTenants,
    processes,
    admitter,
    mending: new Mending(db, hub),
    gates,
    expiry,
    limitReads,
    suspensions,
    checkpoints,
    suspender,
    children,
    logs,
    stepEnder: new StepEnder({ db, claimer, settler, checkpoints, definitions }),
    family: new FamilySweep(db, hub, counters, new Parents(db, hub, maxPayloadBytes)),
  };
}
