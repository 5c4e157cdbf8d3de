import type { DeadLetterReason } from '@millrace/contract';
import type { Logger } from 'pino';
import type { JobRecord } from '../domain/records.js';
import type { Hub, SettledNews } from '../engine/shared/hub.js';
import { LineBudget } from '../telemetry/line-budget.js';

/**
 * The log of what failed: attempts of in-process handlers (warn), their retries (info), and every dead letter that this
 * process writes, whoever ran the job (error). Each kind has a budget of lines of its own, so that a task that always
 * fails cannot fill a disk.
 */
export interface AttemptLog {
  /** A handler threw, or took too long. `error` is what it threw. */
  failed(attempt: LoggedAttempt & { readonly error: unknown }): void;
  /** The attempt is settled: the job will be tried again. */
  retrying(attempt: LoggedAttempt & { readonly delaySecs: number }): void;
  /** The attempt is settled: the job has failed for good. */
  deadLettered(attempt: LoggedAttempt & { readonly reason: DeadLetterReason; readonly error: string }): void;
  /** The attempt was not settled here: the job was no longer held, or the database did not answer in time. */
  unsettled(attempt: LoggedAttempt): void;
}

export interface LoggedAttempt {
  readonly task: string;
  readonly queue: string;
  readonly jobId: string;
  /** The delivery, from 1. */
  readonly attempt: number;
}

export const loggedAttempt = (job: JobRecord): LoggedAttempt => ({
  task: job.task_name,
  queue: job.queue_name,
  jobId: job.id,
  attempt: job.delivery_count,
});

/** A stack says where it happened in its first lines. */
const MAX_STACK_CHARACTERS = 8_192;
const MAX_ERROR_CHARACTERS = 2_048;
/** Jobs whose handler failed and whose outcome is on its way: as many as a pool holds. */
const MAX_SETTLING = 4_000;

const FAILED = 'an attempt failed';
const RETRYING = 'the job will be tried again';
const DEAD = 'the job failed for good: it is a dead letter';

export function createAttemptLog(logger: Logger, hub: Pick<Hub, 'onFailures'>): AttemptLog {
  const budget = (level: 'warn' | 'info' | 'error', what: string): LineBudget =>
    new LineBudget((n) => logger[level]({ suppressed: n }, `${n} more lines were suppressed: ${what}`));
  const failures = budget('warn', FAILED);
  const retries = budget('info', RETRYING);
  const deadLetters = budget('error', DEAD);
  // How many attempts of each job: one whose lease expired may end beside the next one, in the same process.
  const settling = new Map<string, number>();
  const settled = (jobId: string): void => {
    const others = (settling.get(jobId) ?? 1) - 1;
    if (others === 0) settling.delete(jobId);
    else settling.set(jobId, others);
  };

  hub.onFailures((news) => {
    // Those of the pool are logged by the pool, which knows more about them.
    if (news.outcome !== 'failed' || news.reason === 'handler_not_found' || settling.has(news.id)) return;
    if (deadLetters.take()) logger.error(deadFields(news), DEAD);
  });

  return {
    failed: (attempt) => {
      if (settling.size >= MAX_SETTLING) settling.clear();
      settling.set(attempt.jobId, (settling.get(attempt.jobId) ?? 0) + 1);
      if (failures.take()) logger.warn({ ...fields(attempt), err: shortened(attempt.error) }, FAILED);
    },
    retrying: (attempt) => {
      settled(attempt.jobId);
      if (retries.take()) logger.info({ ...fields(attempt), delay_secs: attempt.delaySecs }, RETRYING);
    },
    deadLettered: ({ reason, error, ...attempt }) => {
      settled(attempt.jobId);
      if (deadLetters.take()) logger.error({ ...fields(attempt), reason, error: cut(error) }, DEAD);
    },
    unsettled: ({ jobId }) => settled(jobId),
  };
}

const fields = ({ task, queue, jobId, attempt }: LoggedAttempt): object => ({ task, queue, job_id: jobId, attempt });

const deadFields = ({ id, tenant, task, queue, reason, error }: SettledNews): object => ({
  ...(task !== null && { task }),
  ...(queue !== null && { queue }),
  job_id: id,
  tenant,
  reason,
  ...(error !== null && { error: cut(error) }),
});

/** What was thrown need not be an error, and an error may be of any length. */
function shortened(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return new Error(cut(String(thrown)));
  if ((thrown.stack ?? '').length <= MAX_STACK_CHARACTERS && thrown.message.length <= MAX_ERROR_CHARACTERS)
    return thrown;
  const short = new Error(cut(thrown.message));
  short.name = thrown.name;
  short.stack = (thrown.stack ?? '').slice(0, MAX_STACK_CHARACTERS);
  return short;
}

const cut = (text: string): string =>
  text.length <= MAX_ERROR_CHARACTERS ? text : `${text.slice(0, MAX_ERROR_CHARACTERS)}…`;
