import { milliseconds, type Duration } from '../shared/duration.js';
import { isObject } from '../json/object.js';
import { JobCancelledError, JobFailedError } from '../errors/outcome-errors.js';
import type { ServerEvent } from '../http/event-stream.js';
import { hasEnded, jobOf, type Job } from '../records/jobs.js';
import type { JobHandle } from '../task/types.js';
import type * as Wire from '../wire/index.js';
import { read, segment, type Session } from './session.js';
import { DEFAULT_WAIT, TimeLimit, waitFor } from './wait.js';
import { watch, type Seen } from './watch.js';

/** Beyond what a call waits at the server: the time for its answer to arrive. */
const ANSWER_MS = 10_000;

export interface WaitFor {
  timeout?: Duration;
  signal?: AbortSignal;
}

/** A job by its id. Makes no call by itself. */
export function jobHandle<Out>(session: Session, id: string): JobHandle<Out> {
  return {
    id,
    get: ({ signal } = {}) => getJob(session, id, signal),
    async result(options) {
      return outcomeOf(await waitForJob(session, id, options)) as Out;
    },
    watch: ({ signal } = {}) => watchJob(session, id, signal),
    cancel: ({ signal } = {}) => cancelJob(session, id, signal),
  };
}

export async function getJob(session: Session, id: string, signal?: AbortSignal): Promise<Job> {
  return jobOf(await read<Wire.Job>(session, `/jobs/${segment(id)}`, {}, signal));
}

export async function cancelJob(session: Session, id: string, signal?: AbortSignal): Promise<void> {
  const path = `/jobs/${segment(id)}/cancel`;
  await session.transport.call({ method: 'POST', path, signal, doneIf: ['already_finished'] });
}

/** The job, once it has ended. */
export async function waitForJob(session: Session, id: string, { timeout, signal }: WaitFor = {}): Promise<Job> {
  const limit = new TimeLimit(milliseconds(timeout ?? DEFAULT_WAIT), session.clock);
  const longPolls = await session.features.has('wait');
  return waitFor({
    what: `the job ${id}`,
    limit,
    signal,
    longPolls,
    ask: async (waitSecs) => {
      const { body } = await session.transport.call<Wire.Job>({
        method: 'GET',
        path: `/jobs/${segment(id)}`,
        ...(waitSecs > 0 && { query: { wait_secs: waitSecs }, timeoutMs: waitSecs * 1_000 + ANSWER_MS }),
        signal,
        attempts: 1,
      });
      return hasEnded(body.status) ? jobOf(body) : undefined;
    },
  });
}

/** The result of a job that has ended. */
export function outcomeOf(job: Job): unknown {
  if (job.status === 'failed') throw new JobFailedError(job);
  if (job.status === 'cancelled') throw new JobCancelledError(job);
  return job.result ?? {};
}

function watchJob(session: Session, id: string, signal?: AbortSignal): AsyncIterable<Job> {
  let latest: Wire.Job | null = null;
  const seen = ({ event, data }: ServerEvent): Seen<Job> | null => {
    const parsed: unknown = JSON.parse(data);
    if (!isObject(parsed)) return null;
    if (event === 'status') latest = parsed as unknown as Wire.Job;
    else if (event === 'progress' && latest !== null) latest = { ...latest, progress: parsed };
    else return null;
    return { state: jobOf(latest), last: hasEnded(latest.status), text: JSON.stringify(latest) };
  };
  return { [Symbol.asyncIterator]: () => watch(session.transport, `/jobs/${segment(id)}/events`, seen, signal) };
}
