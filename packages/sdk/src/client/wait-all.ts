import { milliseconds } from '../shared/duration.js';
import { NotFoundError } from '../errors/call-errors.js';
import type { JobHandle } from '../task/types.js';
import type * as Wire from '../wire/index.js';
import { getJob, outcomeOf, type WaitFor } from './job-handle.js';
import type { Session } from './session.js';
import { DEFAULT_WAIT, TimeLimit, waitFor } from './wait.js';

/** How many jobs one call may wait for. */
const MOST_JOBS = 1_000;
/** Short, so that the failure of one is noticed soon. */
const POLL_SECS = 5;
/** How many results are fetched at a time. */
const FETCHES = 8;

/** Waits for many jobs with few calls. Rejects with the error of the first that is found failed or cancelled. */
export async function waitAll(
  session: Session,
  handles: readonly JobHandle<unknown>[],
  options: WaitFor = {},
): Promise<unknown[]> {
  const limit = new TimeLimit(milliseconds(options.timeout ?? DEFAULT_WAIT), session.clock);
  const { signal } = options;
  if (!(await session.features.has('wait'))) {
    const results: unknown[] = [];
    for (const handle of handles) {
      results.push(await handle.result({ timeout: `${Math.ceil(limit.leftMs())}ms`, ...(signal && { signal }) }));
    }
    return results;
  }
  const ids = [...new Set(handles.map((handle) => handle.id))];
  for (let start = 0; start < ids.length; start += MOST_JOBS) {
    await waitForMany(session, ids.slice(start, start + MOST_JOBS), limit, signal);
  }
  return fetchAll(
    handles.map((handle) => handle.id),
    async (id) => outcomeOf(await getJob(session, id, signal)),
  );
}

async function waitForMany(
  session: Session,
  ids: readonly string[],
  limit: TimeLimit,
  signal: AbortSignal | undefined,
): Promise<void> {
  let pending = ids;
  await waitFor({
    what: `one of ${ids.length} jobs`,
    limit,
    signal,
    longPolls: true,
    mostSecs: POLL_SECS,
    ask: async (waitSecs) => {
      const { body } = await session.transport.call<Wire.WaitResponse>({
        method: 'POST',
        path: '/jobs/wait',
        body: { job_ids: pending, until: 'all', wait_secs: waitSecs },
        timeoutMs: waitSecs * 1_000 + 10_000,
        signal,
        attempts: 1,
      });
      const [missing] = body.missing;
      if (missing !== undefined)
        throw new NotFoundError(`there is no job ${missing}`, { code: 'not_found', status: 404 });
      const lost = body.ended.find((job) => job.status !== 'completed');
      if (lost !== undefined) outcomeOf(await getJob(session, lost.id, signal));
      pending = body.pending;
      return pending.length === 0 ? true : undefined;
    },
  });
}

/** In order, a few at a time. */
async function fetchAll<T>(ids: readonly string[], fetch: (id: string) => Promise<T>): Promise<T[]> {
  const results = new Array<T>(ids.length);
  let next = 0;
  const walk = async (): Promise<void> => {
    for (let at = next++; at < ids.length; at = next++) results[at] = await fetch(ids[at] ?? '');
  };
  await Promise.all(Array.from({ length: Math.min(FETCHES, ids.length) }, walk));
  return results;
}
