import type { Logger } from 'pino';
import type { HeldJob } from '../engine/leases/bundle.js';
import type { Handlers } from '../handlers/types.js';
import type { Tracer } from '../telemetry/tracing.js';
import { Attempt, type AttemptEnd, type AttemptParts } from './attempt.js';
import { recordAttempt } from './attempt-spans.js';
import type { OutcomeWriter } from './outcome-writer.js';
import type { Pace } from './pace.js';
import type { Progress } from './progress.js';
import { UnknownTasks } from './unknown-tasks.js';

/** Runs the handlers of jobs that may start, and hands the end of each attempt on to be stored. */
export interface ExecutorOptions extends AttemptParts {
  readonly logger: Logger;
  readonly handlers: Handlers;
  readonly outcomes: Pick<OutcomeWriter, 'store' | 'noHandler'>;
  readonly pace: Pick<Pace, 'finished'>;
  readonly progress: Progress;
  /** Null: nothing is traced. */
  readonly tracer: Tracer | null;
}

export class Executor {
  readonly #running = new Set<Attempt>();
  readonly #unknownTasks: UnknownTasks;

  constructor(private readonly options: ExecutorOptions) {
    this.#unknownTasks = new UnknownTasks(options.logger);
  }

  /** How many attempts are running. */
  get size(): number {
    return this.#running.size;
  }

  /** A synchronous handler has ended when this returns. */
  run(held: HeldJob): void {
    const { handlers, outcomes } = this.options;
    const { task_name: task, queue_name: queue } = held.job;
    const handler = Object.hasOwn(handlers, task) ? handlers[task] : undefined;
    if (!handler) {
      this.#unknownTasks.meet(task, queue);
      return outcomes.noHandler(held);
    }
    const attempt = new Attempt(held, this.#onEnd);
    this.#running.add(attempt);
    attempt.start(handler, this.options);
  }

  checkTimeouts(now: number): void {
    for (const attempt of this.#running) attempt.checkTimeout(now);
  }

  lose(held: HeldJob): void {
    for (const attempt of this.#running) if (attempt.leased === held) attempt.lose();
  }

  interrupt(): void {
    for (const attempt of this.#running) attempt.interrupt();
  }

  readonly #onEnd = (attempt: Attempt, end: AttemptEnd): void => {
    const { tracer, outcomes, pace, progress } = this.options;
    this.#running.delete(attempt);
    pace.finished();
    if (tracer !== null) recordAttempt(tracer, attempt.leased.job, performance.now() - attempt.startedAt, end);
    outcomes.store(attempt.leased, end);
    progress.made();
  };
}
