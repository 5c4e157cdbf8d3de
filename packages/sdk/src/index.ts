/**
 * The client of Millrace: define tasks, enqueue them, wait for results, put workflows together, keep schedules. Workers
 * are in `@millrace/sdk/worker`, what tests need in `@millrace/sdk/testing`.
 */
export { milliseconds, type Duration } from './duration.js';
export * from './errors.js';
export {
  JobCancelled,
  JobTimeout,
  LeaseLost,
  MismatchError,
  NonRetryableError,
  RetryAfterError,
  ShuttingDown,
} from './handler-errors.js';
export type { JsonObject } from './json.js';
export { consoleLogger, silentLogger, type Logger } from './logger.js';
export type { EnqueueOptions, Policy, Retries } from './policy.js';
export type { Job } from './records.js';
export { type, type StandardSchema } from './schema.js';
export { task } from './task.js';
export type {
  AnyTask,
  Args,
  Call,
  Handler,
  InOf,
  JobContext,
  JobHandle,
  OutOf,
  RunningJob,
  Task,
} from './task-types.js';
export type { ErrorCode, JobStatus, OnFailure, WorkflowStatus } from './wire.js';
