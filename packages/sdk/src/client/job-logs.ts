import type { JsonObject } from '../json/object.js';
import { dateOf } from '../records/dates.js';
import { milliseconds, type Duration } from '../shared/duration.js';
import { defined } from '../task/policy.js';
import type * as Wire from '../wire/index.js';
import { segment, type Session } from './session.js';
import { isPassing, LONG_POLL_SECS } from './wait.js';
import { pause } from '../http/deadline.js';
import { retryDelayMs } from '../http/retry.js';

/** What a handler wrote. */
export interface LogLine {
  /** The delivery that wrote it. */
  attempt: number;
  /** Its number within the attempt, from 1; a gap is where lines were not kept. */
  seq: number;
  at: Date;
  level: Wire.LogLevel;
  message: string;
  fields: JsonObject;
}

/** A page of what handlers wrote. */
export interface LogPage {
  lines: LogLine[];
  /** How many lines were not kept. */
  omitted: number;
  /** Where to go on; null: there are no more lines, and none will come. */
  next: string | null;
}

/** Which lines of a job are read. */
export interface LogOptions {
  /** Only lines of this attempt. */
  attempt?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Beyond what a call waits at the server: the time for its answer to arrive. */
const ANSWER_MS = 10_000;
const MOST_SECS = 30;

export async function logPage(
  session: Session,
  id: string,
  { attempt, after, wait, signal }: LogOptions & { after?: string | undefined; wait?: Duration } = {},
): Promise<LogPage> {
  const waitSecs = wait === undefined ? 0 : Math.min(MOST_SECS, Math.ceil(milliseconds(wait) / 1_000));
  const { body } = await session.transport.call<Wire.JobLogs>({
    method: 'GET',
    path: `/jobs/${segment(id)}/logs`,
    query: defined({ attempt, after, ...(waitSecs > 0 && { wait_secs: waitSecs }) }),
    ...(waitSecs > 0 && { timeoutMs: waitSecs * 1_000 + ANSWER_MS }),
    signal,
  });
  return { lines: body.lines.map(lineOf), omitted: body.omitted, next: body.next ?? null };
}

/** A server that does not answer for a moment does not end it: whoever follows wants to see the end. */
export async function* followLogs(session: Session, id: string, options: LogOptions): AsyncGenerator<LogLine> {
  let after: string | undefined;
  const { signal } = options;
  const isAborted = (): boolean => signal?.aborted ?? false;
  for (let failed = 0; !isAborted();) {
    let page: LogPage;
    try {
      page = await logPage(session, id, { ...options, after, wait: `${LONG_POLL_SECS}s` });
      failed = 0;
    } catch (error) {
      if (isAborted()) return;
      if (!isPassing(error)) throw error;
      await pause(retryDelayMs(++failed, null), signal);
      continue;
    }
    yield* page.lines;
    if (page.next === null) return;
    after = page.next;
  }
}

const lineOf = ({ attempt, seq, at, level, message, fields = {} }: Wire.LogLine): LogLine => ({
  attempt,
  seq,
  at: dateOf(at),
  level,
  message,
  fields,
});
