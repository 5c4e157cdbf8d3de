import type { TUnsafe } from 'typebox';
import { AUDIT_ACTIONS } from './audit.js';
import { ORDERS, VIEWS } from './common.js';
import { CRON_FIRING_KINDS, CRON_ORDERS, CRON_OVERLAPS } from './crons.js';
import { DEAD_LETTER_REASONS } from './dead-letters.js';
import { ERROR_CODES } from './errors.js';
import { RETRY_BACKOFFS } from './job-config.js';
import { ATTEMPT_OUTCOMES, WAIT_UNTIL, WHY_REASONS } from './job-insight.js';
import { JOB_STATUSES, TERMINAL_JOB_STATUSES } from './jobs.js';
import { QUEUE_SHARES } from './limits.js';
import { OPERATION_ACTIONS, OPERATION_STATUSES } from './operations.js';
import { LOG_LEVELS } from './logs.js';
import { oneOf } from './schema.js';
import { ON_TIMEOUT_POLICIES, OTHERWISE, SKIP_REASONS } from './step-rules.js';
import { PRINCIPAL_KINDS } from './system.js';
import { UNIQUE_CONFLICTS, UNIQUE_WHILES } from './unique.js';
import { REPORT_OUTCOMES } from './worker.js';
import { ON_FAILURE_POLICIES, ON_SUCCESS_POLICIES, STEP_STATUSES, WORKFLOW_STATUSES } from './workflows.js';

const named = (values: readonly string[], description: string): TUnsafe<string> => oneOf(values, { description });

/**
 * The names that the API description gives to lists of words. Schemas need not refer to them: wherever the same words
 * are allowed, the description shows the name, so that generated clients have one type for them.
 */
export const ENUMERATIONS: Readonly<Record<string, TUnsafe<string>>> = {
  AttemptOutcome: named(ATTEMPT_OUTCOMES, 'How an attempt ended, or that it is running.'),
  AuditAction: named(AUDIT_ACTIONS, 'What an operator did.'),
  CronFiringKind: named(CRON_FIRING_KINDS, 'Why a schedule enqueued a job.'),
  CronOrder: named(CRON_ORDERS, 'The order of a list of schedules.'),
  CronOverlap: named(CRON_OVERLAPS, 'What a schedule does while its last firing has not ended.'),
  DeadLetterReason: named(DEAD_LETTER_REASONS, 'Why a job failed for good.'),
  ErrorCode: named(ERROR_CODES, 'The stable, machine-readable reason of an error. New ones may appear.'),
  JobStatus: named(JOB_STATUSES, 'The state of a job. `completed`, `failed` and `cancelled` are final.'),
  LogLevel: named(LOG_LEVELS, 'How serious a line of a log is.'),
  OnFailure: named(ON_FAILURE_POLICIES, 'What happens to a workflow if a step fails.'),
  OnSuccess: named(ON_SUCCESS_POLICIES, 'What happens after a step has completed.'),
  OnTimeout: named(ON_TIMEOUT_POLICIES, 'What becomes of a step that waited in vain.'),
  OperationAction: named(OPERATION_ACTIONS, 'What a bulk operation does.'),
  OperationStatus: named(OPERATION_STATUSES, 'The state of a bulk operation. Every state except `running` is final.'),
  Order: named(ORDERS, 'The order of a list.'),
  Otherwise: named(OTHERWISE, 'What becomes of the steps behind one whose condition did not hold.'),
  PrincipalKind: named(PRINCIPAL_KINDS, 'What a credential is.'),
  QueueShare: named(QUEUE_SHARES, 'Between whom jobs of a queue take turns.'),
  ReportOutcome: named(REPORT_OUTCOMES, 'What a worker reports about an attempt.'),
  RetryBackoff: named(RETRY_BACKOFFS, 'How the delay between attempts grows.'),
  SkipReason: named(SKIP_REASONS, 'Why a step was skipped.'),
  StepStatus: named(STEP_STATUSES, 'The state of a step of a workflow.'),
  TerminalJobStatus: named(TERMINAL_JOB_STATUSES, 'The states that a job never leaves.'),
  UniqueConflict: named(UNIQUE_CONFLICTS, 'What becomes of a job whose unique key is taken.'),
  UniqueWhile: named(UNIQUE_WHILES, 'How long a job is in the way of others of its unique key.'),
  View: named(VIEWS, 'How much of each item a list shows.'),
  WaitUntil: named(WAIT_UNTIL, 'Whether to wait for all jobs or for any of them.'),
  WhyReason: named(WHY_REASONS, 'Why a job is not running, or that it is, or that it has ended.'),
  WorkflowStatus: named(
    WORKFLOW_STATUSES,
    'The state of a workflow. Every state except `created` and `running` is final.',
  ),
};
