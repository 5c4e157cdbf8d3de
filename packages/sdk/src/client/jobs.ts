import type { JsonObject } from '../json/object.js';
import type { Duration } from '../shared/duration.js';
import { defined } from '../task/policy.js';
import { attemptOf, jobOf, whyOf, type Attempt, type Job, type Why } from '../records/jobs.js';
import { dateOf, dateOrNull } from '../records/dates.js';
import type { AnyTask, JobHandle, OutOf } from '../task/types.js';
import type * as Wire from '../wire/index.js';
import { cancelJob, getJob, jobHandle } from './job-handle.js';
import { keepingBody, type Keeping } from './keeping.js';
import { followEnds, type EndedJob, type EndsOptions } from './job-ends.js';
import { followLogs, logPage, type LogLine, type LogOptions, type LogPage } from './job-logs.js';
import { listing, listQuery, pageOf, type Listing, type ListFilter } from './listing.js';
import { create, read, segment, type Session } from './session.js';

/** Which jobs a list holds. */
export interface JobFilter extends ListFilter {
  /** One state, or several. */
  status?: Wire.JobStatus | readonly Wire.JobStatus[];
  queue?: string;
  task?: AnyTask | string;
  /** Jobs that wait and are due, or that wait and are not due yet. */
  due?: boolean;
  /** Failed and retrying jobs with this text in their error; 3 to 200 characters, in capital or small letters. */
  error?: string;
  /** Jobs whose metadata has exactly this value in this field; one field. */
  metadata?: Record<string, string>;
  /** The steps of one workflow. */
  workflowId?: string;
  /** The job that was created with this key. */
  key?: string;
  /** The jobs that this one has created. */
  parentJobId?: string;
}

/** The deliveries of a job. */
export interface JobAttempts {
  /** When it was first due, or will be: retries move `scheduledAt`. Null: the server does not say. */
  firstDueAt: Date | null;
  attempts: Attempt[];
  /** How many are not kept. */
  omitted: number;
}

/** A named value that a durable job has stored. */
export interface Checkpoint {
  name: string;
  value: unknown;
  at: Date;
  /** The delivery that stored it. */
  attempt: number;
}

interface Signal {
  signal?: AbortSignal;
}

/** Jobs by id, and lists of them: `millrace.jobs`. */
export class Jobs {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** The record of a job. */
  get(id: string, { signal }: Signal = {}): Promise<Job> {
    return getJob(this.#session, id, signal);
  }

  /**
   * A job that was created elsewhere, with the type of its result. Makes no call.
   *
   * @example const { bytes } = await millrace.jobs.handle(resize, id).result();
   */
  handle<T extends AnyTask>(_task: T, id: string): JobHandle<OutOf<T>> {
    return jobHandle(this.#session, id);
  }

  /**
   * Jobs, the newest first.
   *
   * @example for await (const job of millrace.jobs.list({ status: 'failed', queue: 'emails' })) console.log(job.id);
   */
  list(filter: JobFilter = {}): Listing<Job> {
    const { status, queue, task, due, error, metadata = {}, workflowId, parentJobId, key } = filter;
    const query = defined({
      ...listQuery(filter),
      status: status === undefined || typeof status === 'string' ? status : status.join(','),
      queue,
      task: typeof task === 'object' ? task.name : task,
      due,
      error,
      ...Object.fromEntries(Object.entries(metadata).map(([field, value]) => [`metadata.${field}`, value])),
      workflow_id: workflowId,
      parent_job_id: parentJobId,
      idempotency_key: key,
    });
    return listing(filter.limit, async (cursor) => {
      const page = await read<Wire.JobPage>(this.#session, '/jobs', { ...query, cursor }, filter.signal);
      return pageOf(page, page.jobs, jobOf);
    });
  }

  /**
   * Jobs as they end, in that order, each once, until the signal aborts. What ends after this resolves is told.
   *
   * @example for await (const { task, status } of await millrace.jobs.followEnds()) console.log(task, status);
   */
  followEnds(options: EndsOptions = {}): Promise<AsyncIterable<EndedJob>> {
    return followEnds(this.#session, options);
  }

  /**
   * Cancels a job: one that waits never runs, one that runs is told with its next heartbeat.
   *
   * @throws AlreadyFinishedError if it has ended
   */
  cancel(id: string, { signal }: Signal = {}): Promise<void> {
    return cancelJob(this.#session, id, signal);
  }

  /** Makes a job due that is scheduled or waits for its next try. */
  async runNow(id: string, { signal }: Signal = {}): Promise<void> {
    await this.#session.transport.call({ method: 'POST', path: `/jobs/${segment(id)}/run-now`, signal });
  }

  /** Creates a fresh copy of a job, with a full set of retries; of a durable one, with its checkpoints if you ask. */
  async rerun(id: string, options: Signal & Keeping & { key?: string } = {}): Promise<JobHandle<JsonObject>> {
    const { key, signal } = options;
    const request = { path: `/jobs/${segment(id)}/rerun`, key, signal, keyFeature: 'idempotency' } as const;
    const created = await create<Wire.JobCreated>(this.#session, { ...request, ...keepingBody(options) });
    return jobHandle(this.#session, created.job_id);
  }

  /** How its deliveries went: the first twenty and the last twenty. */
  async attempts(id: string, { signal }: Signal = {}): Promise<JobAttempts> {
    const body = await read<Wire.Attempts>(this.#session, `/jobs/${segment(id)}/attempts`, {}, signal);
    return { firstDueAt: dateOrNull(body.first_due_at), attempts: body.attempts.map(attemptOf), omitted: body.omitted };
  }

  /**
   * What its handlers wrote, one page of it: pass `next` as `after` to go on. It is null once the job has ended and
   * there are no more lines. With `wait`, a call that finds none waits for some.
   */
  logs(id: string, options: LogOptions & { after?: string | undefined; wait?: Duration } = {}): Promise<LogPage> {
    return logPage(this.#session, id, options);
  }

  /**
   * What its handlers wrote and will write, line by line, until the job has ended or the signal aborts.
   *
   * @example for await (const { level, message } of millrace.jobs.followLogs(id)) console.log(level, message);
   */
  followLogs(id: string, options: LogOptions = {}): AsyncIterable<LogLine> {
    return followLogs(this.#session, id, options);
  }

  /** What a durable job has stored, in the order in which it was. */
  async checkpoints(id: string, { signal }: Signal = {}): Promise<Checkpoint[]> {
    const body = await read<Wire.Checkpoints>(this.#session, `/jobs/${segment(id)}/checkpoints`, {}, signal);
    return body.checkpoints.map(({ name, value, at, attempt }) => ({ name, value, at: dateOf(at), attempt }));
  }

  /** What a job waits for, in one sentence. */
  async why(id: string, { signal }: Signal = {}): Promise<Why> {
    return whyOf(await read<Wire.Why>(this.#session, `/jobs/${segment(id)}/why`, {}, signal));
  }
}
