/**
 * What makes a handler durable, for whoever runs handlers: the worker of this package, and the server for those within
 * it. Programs use what a context offers instead.
 */
export { CallOrdinals } from './call-ordinals.js';
export { DurableRun, type CheckpointStore, type Stored } from './durable-run.js';
export { LogBuffer, type BufferedLine } from '../shared/log-buffer.js';
export { isSuspended, Suspended, type Suspension } from './suspension.js';
export { ChildFailedError, NonRetryableError, type ChildEnd } from '../errors/handler-errors.js';
export type { JsonObject } from '../json/object.js';
export type { CallOptions, DurableContext, StepOptions, WaitForOptions } from '../task/durable.js';
export { effectKey } from '../task/once.js';
export type { EnqueueOptions } from '../task/policy.js';
export type { AnyTask, Args, Call, CallArgs, CallContext, CallResults, InOf, OutOf } from '../task/types.js';
export type { ChildJob } from '../wire/index.js';
