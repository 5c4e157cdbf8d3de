import type { Database } from '../store/database.js';
import { Canceller } from './cancel.js';
import { Claimer } from './claim.js';
import { CronFirer } from './cron-firer.js';
import { Crons } from './crons.js';
import { DeadLetters } from './dead-letters.js';
import { Definitions } from './definitions.js';
import { Enqueuer } from './enqueue.js';
import { Hub } from './hub.js';
import { LeaseKeeper } from './lease-keeper.js';
import { LeaseDesk } from './lease.js';
import { Ledger, type EngineMetrics } from './ledger.js';
import { Maintenance } from './maintenance.js';
import { Reads } from './reads.js';
import { Settler } from './settle.js';
import { StepSettler } from './step-settler.js';
import { Tenants } from './tenants.js';
import type { Engine, LeasedJob } from './types.js';
import { Watcher } from './watch.js';
import { WorkerDesk } from './worker.js';
import { Workflows } from './workflows.js';

export interface EngineOptions {
  readonly db: Database;
  readonly metrics: EngineMetrics;
  readonly tasks: readonly string[];
  /** Where the steps of workflows run. */
  readonly defaultQueue: string;
  readonly ready: () => Promise<boolean>;
  /** Uniform in [0, 1): jitter. Tests pass their own. */
  readonly random?: () => number;
}

/** The use cases, wired to each other. `api` is what HTTP sees; the loops work with the parts. */
export interface EngineParts {
  readonly api: Engine;
  readonly hub: Hub;
  readonly ledger: Ledger;
  readonly claimer: Claimer;
  readonly settler: Settler;
  readonly keeper: LeaseKeeper;
  readonly maintenance: Maintenance;
  readonly cronFirer: CronFirer;
  readonly reads: Reads;
  readonly desk: LeaseDesk;
  readonly watcher: Watcher;
}

export function createEngine({
  db,
  metrics,
  tasks,
  defaultQueue,
  ready,
  random = Math.random,
}: EngineOptions): EngineParts {
  const hub = new Hub();
  const ledger = new Ledger(metrics);
  const reads = new Reads(db);
  const tenants = new Tenants(db);
  const definitions = new Definitions();
  const enqueuer = new Enqueuer(db, hub, ledger, tenants);
  const claimer = new Claimer(db, hub, ledger);
  const stepSettler = new StepSettler(db, hub, ledger, definitions, defaultQueue);
  const settler = new Settler(db, hub, ledger, stepSettler, random);
  const undeliver = async (jobs: readonly LeasedJob[]): Promise<void> => {
    await Promise.all(jobs.map((leased) => settler.giveBack(leased, 'undelivered')));
  };
  const keeper = new LeaseKeeper(db);
  const desk = new LeaseDesk(claimer, hub, { undeliver });
  const watcher = new Watcher(db, hub, reads);
  const canceller = new Canceller(db, hub, ledger, reads, settler, stepSettler);

  const api: Engine = {
    jobs: {
      create: (tenant, spec, key) => enqueuer.create(tenant, spec, key),
      createBatch: (tenant, specs) => enqueuer.createBatch(tenant, specs),
      get: (tenant, id) => reads.job(tenant, id),
      list: (tenant, query) => reads.jobs(tenant, query),
      cancel: (tenant, id) => canceller.cancel(tenant, id),
      watch: (tenant, id, signal) => watcher.watch(tenant, id, signal),
      queues: (tenant) => reads.queues(tenant),
    },
    worker: new WorkerDesk(keeper, desk, settler, reads, ledger),
    deadLetters: new DeadLetters(db, hub, ledger),
    workflows: new Workflows({ db, hub, ledger, tenants, definitions, stepSettler, defaultQueue }),
    crons: new Crons(db, tenants),
    system: { ready, tasks: () => tasks, stats: (tenant) => ledger.of(tenant) },
  };
  return {
    api,
    hub,
    ledger,
    claimer,
    settler,
    keeper,
    maintenance: new Maintenance(db, settler, ledger),
    cronFirer: new CronFirer(db, hub, ledger),
    reads,
    desk,
    watcher,
  };
}
