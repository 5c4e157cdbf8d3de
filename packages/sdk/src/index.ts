/**
 * The client of Millrace: define tasks, enqueue them, wait for results, put workflows together, keep schedules. Workers
 * are in `@millrace/sdk/worker`, what tests need in `@millrace/sdk/testing`.
 */
export type { DeadLetterFilter, DeadLetterGroup, DeadLetterGroupFilter, DeadLetters } from './client/dead-letters.js';
export type { EndedJob, EndsOptions } from './client/job-ends.js';
export type { LogLine, LogOptions, LogPage } from './client/job-logs.js';
export type { Checkpoint, JobAttempts, JobFilter, Jobs } from './client/jobs.js';
export type { ListFilter, Listing, Page } from './client/listing.js';
export { Millrace } from './client/millrace.js';
export { outbox, type OutboxStartOptions } from './client/outbox.js';
export type { DryRun, Operation, Operations, ResumeDryRun } from './client/operations.js';
export type { ClientOptions, Hooks } from './client/options.js';
export type { LimitInfo, Queue, QueueDetail, Queues, QueueSettings, WorkerInfo } from './client/queues.js';
export type { Raw, RawAnswer, RawEvent, RawRequest } from './client/raw.js';
export type { ScheduleDefinition, Schedules, WorkflowSchedule } from './client/schedules.js';
export type { SignalOptions, Signals, Wait, WaitFilter } from './client/signals.js';
export type { StartOptions, WorkflowFilter, Workflows } from './client/workflows.js';
export { isSuspended, Suspended } from './durable/suspension.js';
export type { CallOptions, DurableContext, StepOptions, WaitForOptions } from './task/durable.js';
export { milliseconds, type Duration } from './shared/duration.js';
export * from './errors/call-errors.js';
export {
  ChildFailedError,
  JobCancelled,
  JobTimeout,
  LeaseLost,
  MismatchError,
  NonRetryableError,
  RetryAfterError,
  ShuttingDown,
  type ChildEnd,
} from './errors/handler-errors.js';
export {
  JobCancelledError,
  JobFailedError,
  WorkflowCancelledError,
  WorkflowFailedError,
} from './errors/outcome-errors.js';
export type { JsonObject } from './json/object.js';
export { jsonElements, jsonMember } from './json/slices.js';
export type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyTransaction,
  PgTransaction,
  PostgresTransaction,
  PrismaTransaction,
  Transaction,
} from './shared/transaction.js';
export { consoleLogger, silentLogger, type Logger } from './shared/logger.js';
export type { EnqueueOptions, Limit, Policy, RateText, Retries } from './task/policy.js';
export type { DeadLetter } from './records/dead-letters.js';
export type { Attempt, Job, JobError, WaitingFor, Why } from './records/jobs.js';
export type { Firing, Schedule } from './records/schedules.js';
export type { WhoAmI } from './records/who-am-i.js';
export type { WorkflowStep } from './records/workflows.js';
export type { Workflow as WorkflowRecord } from './records/workflows.js';
export { type, type StandardSchema } from './task/schema.js';
export { task } from './task/task.js';
export type {
  CallArgs,
  CallContext,
  CallResults,
  AnyTask,
  Args,
  BatchContext,
  BatchOptions,
  Call,
  Handler,
  InOf,
  JobContext,
  JobHandle,
  OutOf,
  RunningJob,
  Task,
} from './task/types.js';
export type * as Wire from './wire/index.js';
export type {
  ErrorCode,
  JobStatus,
  OnFailure,
  OnTimeout,
  Otherwise,
  Scalar,
  StepStatus,
  WorkflowStatus,
} from './wire/index.js';
export type {
  AnyWorkflow,
  Condition,
  Ref,
  ResumeOptions,
  SignalWorkflowOptions,
  Wired,
  Workflow,
  WorkflowHandle,
  WorkflowIn,
  WorkflowOut,
} from './workflow/types.js';
export { workflow } from './workflow/workflow.js';
