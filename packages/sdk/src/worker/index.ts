/** Runs jobs: the part of the SDK that belongs into a process of its own. */
export { jsonText } from '../shared/json-text.js';
export type { WorkerEvent, WorkerSummary } from './events.js';
export type { ChildClient, WorkerOptions } from './options.js';
export { Worker, type WorkerHealth } from './worker.js';
