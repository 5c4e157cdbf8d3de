import { pause } from '../http/deadline.js';
import { retryDelayMs } from '../http/retry.js';
import { jobOf, type Job } from '../records/jobs.js';
import { dateOf } from '../records/dates.js';
import { milliseconds, type Duration } from '../shared/duration.js';
import { defined } from '../task/policy.js';
import type { AnyTask } from '../task/types.js';
import type * as Wire from '../wire/index.js';
import type { Query } from './listing.js';
import { read, type Session } from './session.js';
import { isPassing } from './wait.js';

/** A job that has ended, without what may be large. */
export interface EndedJob extends Omit<Job, 'payload' | 'result' | 'metadata' | 'error' | 'waitingFor'> {
  status: Wire.TerminalJobStatus;
  completedAt: Date;
}

/** Which jobs are told as they end. */
export interface EndsOptions {
  /** How they ended: one state, or several. */
  status?: Wire.TerminalJobStatus | readonly Wire.TerminalJobStatus[];
  queue?: string;
  task?: AnyTask | string;
  /** How often the server is asked; every second by default. Two minutes are too long: ends may be missing then. */
  every?: Duration;
  /** Called when ends may be missing, because the server could not be asked for two minutes. */
  onMissed?: () => void;
  signal?: AbortSignal;
}

const EVERY_MS = 1_000;
const PAGE = 1_000;

/** Resolves once ends are recorded, so that whatever ends after that is told. */
export async function followEnds(session: Session, options: EndsOptions): Promise<AsyncIterable<EndedJob>> {
  const { status, queue, task } = options;
  const query: Query = defined({
    limit: PAGE,
    status: status === undefined || typeof status === 'string' ? status : status.join(','),
    queue,
    task: typeof task === 'object' ? task.name : task,
  });
  const { next } = await ask(session, query, options.signal);
  return follow(session, query, next, options);
}

/** A server that does not answer for a moment does not end it. */
async function* follow(
  session: Session,
  query: Query,
  first: string,
  { every, onMissed, signal }: EndsOptions,
): AsyncGenerator<EndedJob> {
  const everyMs = every === undefined ? EVERY_MS : milliseconds(every);
  const isAborted = (): boolean => signal?.aborted ?? false;
  let after = first;
  for (let failed = 0; !isAborted();) {
    try {
      const { jobs, next, more, missed } = await ask(session, { ...query, after }, signal);
      failed = 0;
      after = next;
      if (missed) onMissed?.();
      yield* jobs.map(endedJobOf);
      if (!more) await pause(everyMs, signal);
    } catch (error) {
      if (isAborted()) return;
      if (!isPassing(error)) throw error;
      await pause(retryDelayMs(++failed, null), signal);
    }
  }
}

const ask = (session: Session, query: Query, signal: AbortSignal | undefined): Promise<Wire.EndedJobs> =>
  read<Wire.EndedJobs>(session, '/jobs/ended', query, signal);

function endedJobOf({ payload_bytes: _bytes, ...summary }: Wire.JobSummary): EndedJob {
  const { status, completed_at: at } = summary;
  const {
    payload: _payload,
    result: _result,
    metadata: _metadata,
    error: _error,
    waitingFor: _waitingFor,
    ...job
  } = jobOf({ ...summary, payload: {}, result: null, metadata: {} });
  return { ...job, status: status as Wire.TerminalJobStatus, completedAt: dateOf(at ?? summary.created_at) };
}
