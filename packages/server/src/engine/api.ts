import type { AdminApi } from './api/admin.js';
import type { CronsApi } from './api/crons.js';
import type { DeadLettersApi } from './api/dead-letters.js';
import type { DurableApi } from './api/durable.js';
import type { InsightApi, SystemApi } from './api/insight.js';
import type { JobsApi } from './api/jobs.js';
import type { OperationsApi } from './api/operations.js';
import type { WorkflowsApi } from './api/workflows.js';
import type { WorkerApi } from './api/worker.js';

export type * from './api/admin.js';
export type * from './api/creates.js';
export type * from './api/crons.js';
export type * from './api/dead-letters.js';
export type * from './api/durable.js';
export type * from './api/insight.js';
export type * from './api/jobs.js';
export { MAX_PAGE_BYTES } from './api/lists.js';
export type * from './api/lists.js';
export type * from './api/operations.js';
export type * from './api/worker.js';
export type * from './api/workflows.js';

/** What the layers above the engine see of it: plain records in, plain records out. */
export interface Engine {
  readonly jobs: JobsApi;
  readonly worker: WorkerApi;
  readonly deadLetters: DeadLettersApi;
  readonly workflows: WorkflowsApi;
  readonly crons: CronsApi;
  readonly operations: OperationsApi;
  readonly durable: DurableApi;
  readonly system: SystemApi;
  readonly insight: InsightApi;
  readonly admin: AdminApi;
}
