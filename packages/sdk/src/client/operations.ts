import { defined } from '../task/policy.js';
import type * as Wire from '../wire/index.js';
import { keepingBody, type Keeping } from './keeping.js';
import { listing, pageOf, type Listing, type ListFilter } from './listing.js';
import type { DeadLetterFilter } from './dead-letters.js';
import type { JobFilter } from './jobs.js';
import { create, read, segment, type Session } from './session.js';
import type { WorkflowFilter } from './workflows.js';

/** Operations choose jobs by everything that lists do, but for their parent. */
type BulkJobFilter = Omit<JobFilter, 'parentJobId'>;

/** A change to everything that matched a filter, made in the background. */
export interface Operation {
  id: string;
  action: Wire.Operation['action'];
  status: Wire.Operation['status'];
  matched: Wire.Count;
  /** How many it has looked at. */
  done: number;
  changed: number;
  /** How many needed no change. */
  skipped: number;
  /** What became of replayed and rerun jobs. */
  outcome: Wire.Operation['outcome'];
  createdAt: Date;
  completedAt: Date | null;
}

/** What would match. */
export interface DryRun {
  matched: Wire.Count;
  sample: { id: string; task: string; queue: string; createdAt: Date }[];
}

/** Which workflows would be resumed. */
export interface ResumeDryRun {
  matched: Wire.Count;
  sample: { id: string; name: string; createdAt: Date }[];
}

type Selection<F> =
  { filter: Omit<F, keyof Paging>; ids?: never } | { ids: readonly (string | number)[]; filter?: never };
type Paging = Pick<ListFilter, 'limit' | 'oldestFirst' | 'includeTotal' | 'signal'>;

interface Signal {
  signal?: AbortSignal;
}

interface Keyed extends Signal {
  key?: string;
}

/** Bulk work: `millrace.operations`. At most five run at a time. */
export class Operations {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Cancels every job that matches. What is created later is never touched.
   *
   * @example const { id } = await millrace.operations.cancelJobs({ filter: { status: 'pending', queue: 'emails' } });
   */
  cancelJobs(selection: Selection<BulkJobFilter>, options?: Keyed): Promise<Operation> {
    return this.#start(jobsRequest('cancel_jobs', selection), options);
  }

  /** Makes every waiting job that matches due now, whatever its time. */
  runJobsNow(selection: Selection<BulkJobFilter>, options?: Keyed): Promise<Operation> {
    return this.#start(jobsRequest('run_jobs_now', selection), options);
  }

  /** Creates every ended job that matches anew. */
  rerunJobs(selection: Selection<BulkJobFilter>, options?: Keyed): Promise<Operation> {
    return this.#start(jobsRequest('rerun_jobs', selection), options);
  }

  /** Replays every dead letter that matches. */
  replayDeadLetters(selection: Selection<DeadLetterFilter>, options: Keyed & Keeping = {}): Promise<Operation> {
    return this.#start({ ...replayRequest(selection), ...keepingBody(options).body }, options);
  }

  /**
   * Resumes every workflow that matches, from the steps that failed or were cancelled. Without a status: those that
   * failed as a whole or in part.
   */
  resumeWorkflows(selection: Selection<WorkflowFilter>, options?: Keyed): Promise<Operation> {
    return this.#start(resumeRequest(selection), options);
  }

  /** What `resumeWorkflows` would resume. */
  async previewResumeWorkflows(selection: Selection<WorkflowFilter>, options?: Signal): Promise<ResumeDryRun> {
    const { matched, sample } = await this.#dryRun(resumeRequest(selection), options);
    return {
      matched,
      sample: sample.map(({ id, name = '', created_at: at }) => ({ id, name, createdAt: new Date(at) })),
    };
  }

  /** What `cancelJobs` would cancel. */
  previewCancelJobs(selection: Selection<BulkJobFilter>, options?: Signal): Promise<DryRun> {
    return this.#preview(jobsRequest('cancel_jobs', selection), options);
  }

  /** What `runJobsNow` would make due. */
  previewRunJobsNow(selection: Selection<BulkJobFilter>, options?: Signal): Promise<DryRun> {
    return this.#preview(jobsRequest('run_jobs_now', selection), options);
  }

  /** What `rerunJobs` would create anew. */
  previewRerunJobs(selection: Selection<BulkJobFilter>, options?: Signal): Promise<DryRun> {
    return this.#preview(jobsRequest('rerun_jobs', selection), options);
  }

  /** What `replayDeadLetters` would replay. */
  previewReplayDeadLetters(selection: Selection<DeadLetterFilter>, options?: Signal): Promise<DryRun> {
    return this.#preview(replayRequest(selection), options);
  }

  async get(id: string, { signal }: Signal = {}): Promise<Operation> {
    return operationOf(await read<Wire.Operation>(this.#session, `/operations/${segment(id)}`, {}, signal));
  }

  /** Operations, the newest first. */
  list({ limit, signal }: Pick<ListFilter, 'limit' | 'signal'> = {}): Listing<Operation> {
    return listing(limit, async (cursor) => {
      const page = await read<Wire.Operations>(this.#session, '/operations', { cursor }, signal);
      return pageOf(page, page.operations, operationOf);
    });
  }

  /** Ends an operation early; what it has done stays done. */
  async stop(id: string, { signal }: Signal = {}): Promise<void> {
    const path = `/operations/${segment(id)}/stop`;
    await this.#session.transport.call({ method: 'POST', path, signal, doneIf: ['already_finished'] });
  }

  async #start(body: Wire.CreateOperation, { key, signal }: Keyed = {}): Promise<Operation> {
    const created = await create<Wire.OperationCreated>(this.#session, { path: '/operations', body, key, signal });
    return this.get(created.operation_id, signal === undefined ? {} : { signal });
  }

  async #preview(body: Wire.CreateOperation, options?: Signal): Promise<DryRun> {
    const found = await this.#dryRun(body, options);
    const sample = found.sample.map((item) => ({
      id: item.id,
      task: item.task_name ?? '',
      queue: item.queue_name ?? '',
      createdAt: new Date(item.created_at),
    }));
    return { matched: found.matched, sample };
  }

  async #dryRun(body: Wire.CreateOperation, { signal }: Signal = {}): Promise<Wire.DryRun> {
    const request = { method: 'POST', path: '/operations', body: { ...body, dry_run: true }, signal } as const;
    return (await this.#session.transport.call<Wire.DryRun>(request)).body;
  }
}

type JobAction = 'cancel_jobs' | 'run_jobs_now' | 'rerun_jobs';

function jobsRequest(action: JobAction, { filter, ids }: Selection<BulkJobFilter>): Wire.CreateOperation {
  if (ids !== undefined) return { action, ids: ids.map(String) };
  const { status, queue, task, due, error, metadata, workflowId, key, createdAfter, createdBefore } = filter;
  return {
    action,
    filter: defined({
      status: status === undefined || typeof status === 'string' ? status : status.join(','),
      queue,
      task: typeof task === 'object' ? task.name : task,
      due,
      error,
      metadata,
      workflow_id: workflowId,
      idempotency_key: key,
      created_after: createdAfter?.toISOString(),
      created_before: createdBefore?.toISOString(),
    }),
  };
}

function replayRequest({ filter, ids }: Selection<DeadLetterFilter>): Wire.CreateOperation {
  if (ids !== undefined) return { action: 'replay_dead_letters', ids: ids.map(String) };
  const { queue, task, reason, replayed, jobId, fingerprint, createdAfter, createdBefore } = filter;
  return {
    action: 'replay_dead_letters',
    filter: defined({
      queue_name: queue,
      task_name: typeof task === 'object' ? task.name : task,
      reason,
      replayed,
      job_id: jobId,
      fingerprint,
      created_after: createdAfter?.toISOString(),
      created_before: createdBefore?.toISOString(),
    }),
  };
}

function resumeRequest({ filter, ids }: Selection<WorkflowFilter>): Wire.CreateOperation {
  if (ids !== undefined) return { action: 'resume_workflows', ids: ids.map(String) };
  const { status, name, createdAfter, createdBefore } = filter;
  return {
    action: 'resume_workflows',
    filter: defined({
      status,
      name,
      created_after: createdAfter?.toISOString(),
      created_before: createdBefore?.toISOString(),
    }),
  };
}

function operationOf(operation: Wire.Operation): Operation {
  const { id, action, status, matched, done, changed, skipped, outcome } = operation;
  const { created_at: createdAt, completed_at: completedAt } = operation;
  return {
    ...{ id, action, status, matched, done, changed, skipped, outcome },
    createdAt: new Date(createdAt),
    completedAt: completedAt === null ? null : new Date(completedAt),
  };
}
