import type { Logger } from '../shared/logger.js';
import type { RunningJob } from '../task/types.js';

/** What a worker tells its program as it happens. `ms` is how long the attempt ran, or how long the worker stood. */
export type WorkerEvent =
  | {
      readonly type: 'started' | 'completed' | 'failed' | 'cancelled' | 'lease_lost' | 'released' | 'suspended';
      readonly job: RunningJob;
      readonly ms?: number;
      readonly error?: unknown;
    }
  | { readonly type: 'polling' | 'draining' | 'stopped' | 'stalled'; readonly ms?: number };

/** How the jobs of a worker ended; what was cancelled or lost is in none of them. */
export interface WorkerSummary {
  completed: number;
  failed: number;
  released: number;
}

/** Passes events on and counts them. A listener that throws does no harm. */
export class EventSink {
  readonly summary: WorkerSummary = { completed: 0, failed: 0, released: 0 };
  readonly #listener: ((event: WorkerEvent) => void) | undefined;
  readonly #logger: Logger;

  constructor(listener: ((event: WorkerEvent) => void) | undefined, logger: Logger) {
    this.#listener = listener;
    this.#logger = logger;
  }

  emit(event: WorkerEvent): void {
    if (event.type === 'completed' || event.type === 'failed' || event.type === 'released') this.summary[event.type]++;
    try {
      this.#listener?.(event);
    } catch (error) {
      this.#logger.error(`onEvent threw: ${String(error)}`);
    }
  }
}
