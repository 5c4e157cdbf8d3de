import type { JsonObject } from '../json/object.js';
import { defined } from '../task/policy.js';
import { deadLetterOf, type DeadLetter } from '../records/dead-letters.js';
import type { AnyTask, JobHandle } from '../task/types.js';
import type * as Wire from '../wire/index.js';
import { jobHandle } from './job-handle.js';
import { keepingBody, type Keeping } from './keeping.js';
import { listing, listQuery, pageOf, type Listing, type ListFilter } from './listing.js';
import { create, read, segment, type Session } from './session.js';

/** Which dead letters a list holds. */
export interface DeadLetterFilter extends ListFilter {
  queue?: string;
  task?: AnyTask | string;
  reason?: Wire.DeadLetterReason;
  /** Only those that have been replayed, or that have not. */
  replayed?: boolean;
  jobId?: string;
  fingerprint?: string;
}

/** Dead letters that failed in the same way. */
export interface DeadLetterGroup {
  fingerprint: string;
  task: string;
  reason: Wire.DeadLetterReason;
  /** The first line of the error, with ids and numbers taken out. */
  message: string | null;
  count: number;
  /** How many of them have not been replayed. */
  open: number;
  firstAt: Date;
  lastAt: Date;
  latestId: number;
}

/** Which dead letters are grouped. */
export interface DeadLetterGroupFilter {
  since?: Date;
  queue?: string;
  task?: AnyTask | string;
  /** Only those that have been replayed, or that have not. */
  replayed?: boolean;
  limit?: number;
  signal?: AbortSignal;
}

interface Signal {
  signal?: AbortSignal;
}

/** Jobs that failed for good: `millrace.deadLetters`. */
export class DeadLetters {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async get(id: number, { signal }: Signal = {}): Promise<DeadLetter> {
    return deadLetterOf(await read<Wire.DeadLetter>(this.#session, `/dlq/${id}`, {}, signal));
  }

  /** Dead letters, the newest first. */
  list(filter: DeadLetterFilter = {}): Listing<DeadLetter> {
    const query = defined({
      ...listQuery(filter),
      queue_name: filter.queue,
      task_name: typeof filter.task === 'object' ? filter.task.name : filter.task,
      reason: filter.reason,
      replayed: filter.replayed,
      job_id: filter.jobId,
      fingerprint: filter.fingerprint,
    });
    return listing(filter.limit, async (cursor) => {
      const page = await read<Wire.DeadLetterPage>(this.#session, '/dlq', { ...query, cursor }, filter.signal);
      return pageOf(page, page.dead_letters, deadLetterOf);
    });
  }

  /** The same failures together: one group per task, reason and kind of error, the latest first. */
  groups(filter: DeadLetterGroupFilter = {}): Listing<DeadLetterGroup> {
    const query = defined({
      since: filter.since?.toISOString(),
      queue_name: filter.queue,
      task_name: typeof filter.task === 'object' ? filter.task.name : filter.task,
      replayed: filter.replayed,
      limit: listQuery(defined({ limit: filter.limit })).limit,
    });
    return listing(filter.limit, async (cursor) => {
      const page = await read<Wire.DeadLetterGroups>(this.#session, '/dlq/groups', { ...query, cursor }, filter.signal);
      return pageOf(page, page.groups, groupOf);
    });
  }

  /**
   * Creates a fresh job from a dead letter, once. With `keepCheckpoints` it goes on after the steps that completed.
   *
   * @throws AlreadyReplayedError if it has been replayed before
   */
  async replay(id: number, options: Signal & Keeping & { key?: string } = {}): Promise<JobHandle<JsonObject>> {
    const { key, signal } = options;
    const path = `/dlq/${segment(String(id))}/replay`;
    const created = await create<Wire.JobCreated | undefined>(this.#session, {
      path,
      ...keepingBody(options),
      key,
      signal,
      // An entry can be replayed only once, so a repeat does no harm on a server that ignores the key.
      doneIf: ['already_replayed'],
    });
    return jobHandle(this.#session, created?.job_id ?? (await this.#replayed(id, signal)));
  }

  /** A try took effect without being answered: the entry says which job it made. */
  async #replayed(id: number, signal: AbortSignal | undefined): Promise<string> {
    const { replay_job_id: jobId } = await read<Wire.DeadLetter>(this.#session, `/dlq/${id}`, {}, signal);
    return jobId ?? '';
  }
}

function groupOf(group: Wire.DeadLetterGroup): DeadLetterGroup {
  return {
    fingerprint: group.fingerprint,
    task: group.task_name,
    reason: group.reason,
    message: group.message,
    count: group.count,
    open: group.open,
    firstAt: new Date(group.first_at),
    lastAt: new Date(group.last_at),
    latestId: group.latest_id,
  };
}
