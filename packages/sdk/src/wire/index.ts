/**
 * The shapes on the wire that the SDK reads and writes. They are those of `@millrace/contract`, declared again so that
 * installing the SDK brings no validator along; a test compares the two, both ways.
 */
export type * from './children.js';
export type * from './common.js';
export type * from './crons.js';
export type * from './dead-letters.js';
export type * from './durable.js';
export type * from './jobs.js';
export type * from './logs.js';
export type * from './operations.js';
export type * from './queues.js';
export type * from './worker.js';
export type * from './workflows.js';
