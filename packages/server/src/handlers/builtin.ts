import { setTimeout as delay } from 'node:timers/promises';
import { PermanentError, RawJson, type Handlers, type JsonObject } from './types.js';

/** The handlers that come with the server, on the default queue; --builtin-tasks says which of them run. */
export const BUILTIN_HANDLERS: Handlers = {
  echo: (_payload, { job }) => new RawJson(job.payloadText),

  log: (payload, { job, log }) => {
    log.info({ job_id: job.id, payload }, 'log');
    return {};
  },

  sleep: async (payload, { signal }) => {
    const seconds = sleepSeconds(payload);
    await delay(seconds * 1000, undefined, { signal });
    return { slept_for: seconds };
  },

  fail: (payload) => {
    const message = typeof payload.message === 'string' ? payload.message : 'intentional failure';
    throw payload.permanent === true ? new PermanentError(message) : new Error(message);
  },
};

export const BUILTIN_TASKS: readonly string[] = Object.keys(BUILTIN_HANDLERS).sort();

export const builtinHandlers = (tasks: readonly string[]): Handlers =>
  Object.fromEntries(Object.entries(BUILTIN_HANDLERS).filter(([task]) => tasks.includes(task)));

/** Timers hold 31 bits of milliseconds. No attempt may take longer than a day anyway. */
const LONGEST_SECONDS = 2_000_000;

function sleepSeconds(payload: JsonObject): number {
  const given = payload.duration ?? payload.seconds ?? payload.duration_secs;
  const ms = payload.duration_ms;
  const seconds = given ?? (typeof ms === 'number' ? ms / 1000 : (ms ?? 0));
  if (typeof seconds !== 'number' || !(seconds >= 0))
    throw new PermanentError('duration must be a number of seconds, not negative');
  return Math.min(seconds, LONGEST_SECONDS);
}
