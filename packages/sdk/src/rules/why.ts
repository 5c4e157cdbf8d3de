import { WAITS_QUEUE, WALK_LIMIT } from './limits.js';
import { saysNoHandler } from './no-handler.js';
import { intervalSecs, type Rate } from './rates.js';

/** Why a job does not run, in one sentence for a person. */

type Instant = string;
type JobStatus = 'pending' | 'running' | 'retrying' | 'completed' | 'failed' | 'cancelled';

/** The answer, as it is sent. */
export interface Why {
  reason:
    | 'due_later'
    | 'retry_backoff'
    | 'sleeping'
    | 'waiting_for_signal'
    | 'waiting_for_children'
    | 'behind'
    | 'no_worker'
    | 'no_handler'
    | 'queue_paused'
    | 'limited'
    | 'rate_limited'
    | 'waiting_for_its_turn'
    | 'running'
    | 'ended';
  message: string;
  until?: string;
  ahead?: number;
  limit?: { key: string; running: number; limit: number };
  last_lease_at?: string;
}

/** What a suspended job waits for. */
interface Suspension {
  readonly checkpoint: string;
  readonly signal: string | null;
  readonly key: string | null;
  readonly until: Instant;
  readonly children: { readonly total: number; readonly unfinished: number } | null;
}

/** The state of a job, as of `now`. */
export interface Standing {
  readonly now: Instant;
  readonly queue: string;
  readonly status: JobStatus;
  readonly scheduledAt: Instant;
  readonly startedAt: Instant | null;
  readonly completedAt: Instant | null;
  readonly deliveryCount: number;
  readonly workerId: string | null;
  readonly leaseExpiresAt: Instant | null;
  readonly pausedAt: Instant | null;
  /** When a worker last asked for jobs of its queue; null: not within a day. */
  readonly lastLeaseAt: Instant | null;
  /** Of a suspended job. */
  readonly waitingFor: Suspension | null;
  /** What its last attempt failed with. */
  readonly error: string | null;
}

/** A worker that waits for jobs asks for them every half minute at least, and is noted once per minute. */
export const NO_WORKER_SECS = 120;

/**
 * Everything but the number of jobs ahead, which takes a count: null where that is what the job waits for. The first
 * reason that holds is given, since the later ones would not matter without it.
 */
export function whyNot(standing: Standing): Why | null {
  const { status, queue, pausedAt, scheduledAt } = standing;
  if (isTerminal(status)) return ended(standing);
  if (status === 'running') return runs(standing);
  if (pausedAt !== null)
    return { reason: 'queue_paused', message: `The operator has paused the queue ${quoted(queue)} at ${pausedAt}.` };
  if (isBefore(standing.now, scheduledAt)) return waits(standing);
  return isAttended(standing) ? null : unattended(standing);
}

/** Whether it waits, and is due. */
export const isDue = ({ status, now, scheduledAt }: Standing): boolean =>
  !isTerminal(status) && status !== 'running' && !isBefore(now, scheduledAt);

/** Whether somebody had it and gave it back for a while: perhaps because nobody knows its task. */
export const isPutOff = ({ status, deliveryCount, waitingFor, pausedAt, now, scheduledAt }: Standing): boolean =>
  status === 'pending' && deliveryCount > 0 && waitingFor === null && pausedAt === null && isBefore(now, scheduledAt);

/**
 * Workers asked for jobs of its queue lately, and none of them knows its task. Null: one does, or did not say what it
 * knows, or nobody asked.
 */
export function unhandled(
  standing: Standing,
  task: string,
  askers: readonly { readonly tasks: readonly string[] | null }[],
): Why | null {
  if (askers.length === 0 || askers.some(({ tasks }) => tasks === null || tasks.includes(task))) return null;
  const { queue, lastLeaseAt, scheduledAt, now } = standing;
  const who = askers.length === 1 ? 'A worker has' : `${askers.length} workers have`;
  const knows = askers.length === 1 ? 'knows no' : 'none of them knows a';
  return {
    reason: 'no_handler',
    message: `${who} asked for jobs of the queue ${quoted(queue)}, but ${knows} task ${quoted(task)}.`,
    ...(isBefore(now, scheduledAt) && { until: scheduledAt }),
    ...since(lastLeaseAt),
  };
}

/** The job is due, and its queue has workers. */
export function behind(ahead: number, { queue, lastLeaseAt }: Standing): Why {
  return { reason: 'behind', message: aheadText(ahead, quoted(queue)), ahead, ...since(lastLeaseAt) };
}

/** What keeps claims of a queue with limits from going on; both null: nothing. */
export interface GateStanding {
  readonly running: { readonly used: number; readonly most: number } | null;
  readonly next: { readonly rate: Rate; readonly secs: number } | null;
}

/** The job is due, and its queue has workers, but may not start any more now. Null: it may. */
export function gated(ahead: number, { queue, now }: Standing, { running, next }: GateStanding): Why | null {
  const before = ahead === 0 ? 'it is next' : `${atLeast(ahead)} before it`;
  if (running !== null) {
    const message = `${running.used} of ${running.most} running on the queue ${quoted(queue)}; ${before}.`;
    return { reason: 'limited', message, ahead };
  }
  if (next === null) return null;
  const { rate, secs } = next;
  const until = new Date(Date.parse(now) + (secs + ahead * intervalSecs(rate)) * 1000).toISOString();
  const pace = `${rate.count} per ${rate.perSecs} s may start on the queue ${quoted(queue)}`;
  return { reason: 'rate_limited', message: `${pace}; ${before}, and it may start at ${until}.`, until, ahead };
}

/** The job is due, in the line of its tenant, on a queue where tenants take turns. */
export function waitsForItsTurn(ahead: number, { queue, lastLeaseAt }: Standing): Why {
  const before = ahead === 0 ? 'it is the next of its tenant' : `${atLeast(ahead)} of its tenant before it`;
  const message = `Tenants take turns on the queue ${quoted(queue)}; ${before}.`;
  return { reason: 'waiting_for_its_turn', message, ahead, ...since(lastLeaseAt) };
}

/** The limit in whose line a job waits. */
export interface PlaceInLine {
  readonly key: string;
  readonly running: number;
  /** Null: only its rate counts. */
  readonly limit: number | null;
  readonly ahead: number;
  readonly rate: Rate | null;
  /** Of a rate: seconds until the next token. Null: there is none before somebody claims what was let in. */
  readonly nextSecs: number | null;
  readonly now: Instant;
}

/** The job is due, and waits for room, or for a token. */
export function limited(place: PlaceInLine): Why {
  const { key, running, limit, ahead, rate } = place;
  if (rate !== null && (limit === null || running < limit)) return rateLimited(place, rate);
  const before = ahead === 0 ? 'it is the next of that key' : `${atLeast(ahead)} of that key before it`;
  return {
    reason: 'limited',
    message: `${running} of ${limit} running for ${key}; ${before}.`,
    ahead,
    limit: { key, running, limit: limit ?? running },
  };
}

/** The instant is that of its token, if nothing changes: those before it take theirs first. */
function rateLimited({ key, ahead, nextSecs, now }: PlaceInLine, rate: Rate): Why {
  const pace = `${rate.count} per ${rate.perSecs} s may start for ${key}`;
  const before = ahead === 0 ? 'it is the next of that key' : `${atLeast(ahead)} of that key before it`;
  if (nextSecs === null) {
    const message = `${pace}; ${before}, once workers have taken those that may start now.`;
    return { reason: 'rate_limited', message, ahead };
  }
  const until = new Date(Date.parse(now) + (nextSecs + ahead * intervalSecs(rate)) * 1000).toISOString();
  return { reason: 'rate_limited', message: `${pace}; ${before}, and it may start at ${until}.`, until, ahead };
}

/** What the job says that nobody began in time. */
export const EXPIRED = 'expired before it started';

function ended({ status, completedAt, error, deliveryCount }: Standing): Why {
  const hasExpired = status === 'cancelled' && deliveryCount === 0 && error === EXPIRED;
  const saysWhy = hasExpired || (status === 'failed' && error !== null && saysNoHandler(error));
  const because = saysWhy ? `: ${error}` : '';
  return { reason: 'ended', message: `The job ${ENDED[status]} at ${completedAt}${because}.` };
}

function runs({ deliveryCount, startedAt, workerId, leaseExpiresAt }: Standing): Why {
  const who = workerId === null ? 'A worker' : `The worker ${quoted(workerId)}`;
  const until = leaseExpiresAt === null ? '' : `; its lease expires at ${leaseExpiresAt} unless it is extended`;
  return {
    reason: 'running',
    message: `${who} has been running attempt ${deliveryCount} since ${startedAt}${until}.`,
    ...(leaseExpiresAt !== null && { until: leaseExpiresAt }),
  };
}

function waits(standing: Standing): Why {
  const { status, deliveryCount, scheduledAt, waitingFor } = standing;
  if (waitingFor !== null) return suspended(waitingFor);
  return status === 'retrying'
    ? {
        reason: 'retry_backoff',
        message: `Attempt ${deliveryCount} failed; the next one is due at ${scheduledAt}.`,
        until: scheduledAt,
      }
    : { reason: 'due_later', message: `The job is due at ${scheduledAt}.`, until: scheduledAt };
}

/** It is due at its deadline, or sooner by a signal or when its children have ended. */
function suspended({ checkpoint, signal, key, until, children }: Suspension): Why {
  if (children !== null) {
    const left = `${children.unfinished} of ${children.total}`;
    const message = `The job waits for its children (${quoted(checkpoint)}), ${left} of which have not ended, until ${until}.`;
    return { reason: 'waiting_for_children', message, until };
  }
  if (signal === null)
    return { reason: 'sleeping', message: `The job sleeps (${quoted(checkpoint)}) until ${until}.`, until };
  const message = `The job waits for the signal ${quoted(signal)} with the key ${quoted(key ?? '')}, until ${until}.`;
  return { reason: 'waiting_for_signal', message, until };
}

/** Steps that wait for signals are ended by the service itself. */
function isAttended({ queue, now, lastLeaseAt }: Standing): boolean {
  if (queue === WAITS_QUEUE) return true;
  return lastLeaseAt !== null && Date.parse(now) - Date.parse(lastLeaseAt) <= NO_WORKER_SECS * 1000;
}

function unattended({ queue, lastLeaseAt }: Standing): Why {
  const name = quoted(queue);
  // Remembered for a day, or for as long as there has been a server: neither is told as the other.
  const asks =
    lastLeaseAt === null
      ? `asks for jobs of the queue ${name}`
      : `has asked for jobs of the queue ${name} since ${lastLeaseAt}`;
  return {
    reason: 'no_worker',
    message: `The job is due, but no worker ${asks}.`,
    ...since(lastLeaseAt),
  };
}

function aheadText(ahead: number, queue: string): string {
  if (ahead === 0) return `The job is next on the queue ${queue}.`;
  if (ahead === 1) return `One job is ahead of it on the queue ${queue}.`;
  return `${capital(atLeast(ahead))} jobs are ahead of it on the queue ${queue}.`;
}

const atLeast = (count: number): string => (count >= WALK_LIMIT ? `at least ${count}` : String(count));
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const isTerminal = (status: JobStatus): boolean => Object.hasOwn(ENDED, status);

const ENDED: Readonly<Record<string, string>> = {
  completed: 'completed',
  failed: 'failed for good',
  cancelled: 'was cancelled',
};

const quoted = (name: string): string => JSON.stringify(name);

const since = (lastLeaseAt: Instant | null): Pick<Why, 'last_lease_at'> =>
  lastLeaseAt === null ? {} : { last_lease_at: lastLeaseAt };

/** Instants of the database compare as text does, without their Z. */
const isBefore = (a: Instant, b: Instant): boolean => a.replace('Z', '') < b.replace('Z', '');
