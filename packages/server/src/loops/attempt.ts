import type { Logger } from 'pino';
import type { LeasedJob } from '../engine/types.js';
import {
  PermanentError,
  RawJson,
  type Handler,
  type HandlerContext,
  type HandlerJob,
  type HandlerResult,
  type JsonObject,
} from '../handlers/types.js';

/** How one run of a handler ended. */
export type AttemptEnd =
  | { readonly kind: 'completed'; readonly result: string }
  | { readonly kind: 'failed'; readonly error: string; readonly retryable: boolean }
  /** Not the job's doing: it goes back to the queue as it was. */
  | { readonly kind: 'interrupted' }
  /** The lease is gone; whatever came out of it no longer matters. */
  | { readonly kind: 'lost' };

/**
 * One run of a handler, from start to whichever comes first: its end, its timeout, or a reason to stop it. A handler that ignores its
 * signal keeps running, but nobody waits for it any more.
 */
export class Attempt {
  readonly startedAt = performance.now();
  #controller: AbortController | null = null;
  #stopReason: Error | null = null;
  #finish!: (end: AttemptEnd) => void;
  readonly ended: Promise<AttemptEnd>;

  constructor(
    readonly leased: LeasedJob,
    handler: Handler,
    log: Logger,
  ) {
    this.ended = new Promise((resolve) => (this.#finish = resolve));
    void this.#run(handler, this.#context(log));
  }

  /** Called from time to time: ends the attempt if its time is over. */
  checkTimeout(now: number): void {
    const secs = this.leased.job.config.timeout_secs;
    if (now - this.startedAt < secs * 1000) return;
    this.#stop(new Error(`timed out after ${secs} s`), {
      kind: 'failed',
      error: `timed out after ${secs} s`,
      retryable: true,
    });
  }

  lose(): void {
    this.#stop(new Error('the job was cancelled or its lease was lost'), { kind: 'lost' });
  }

  interrupt(): void {
    this.#stop(new Error('the server is shutting down'), { kind: 'interrupted' });
  }

  #stop(reason: Error, end: AttemptEnd): void {
    // In this order: a handler that fails in answer to the signal must not count as having failed by itself.
    this.#finish(end);
    this.#stopReason = reason;
    this.#controller?.abort(reason);
  }

  /** Most handlers never look at their signal, and one costs more than running them: it is made when it is asked for. */
  #context(log: Logger): HandlerContext {
    const signal = (): AbortSignal => {
      this.#controller ??= new AbortController();
      if (this.#stopReason) this.#controller.abort(this.#stopReason);
      return this.#controller.signal;
    };
    return {
      job: handlerJob(this.leased),
      log,
      get signal() {
        return signal();
      },
    };
  }

  async #run(handler: Handler, context: HandlerContext): Promise<void> {
    try {
      const payload = JSON.parse(this.leased.job.payload) as JsonObject;
      this.#finish({ kind: 'completed', result: resultText(await handler(payload, context)) });
    } catch (error) {
      this.#finish({ kind: 'failed', error: messageOf(error), retryable: !(error instanceof PermanentError) });
    }
  }
}

function handlerJob({ job }: LeasedJob): HandlerJob {
  return {
    id: job.id,
    task: job.task_name,
    queue: job.queue_name,
    tenant: job.tenant_id,
    attempt: job.delivery_count,
    retryCount: job.retry_count,
    workflowId: job.workflow_id,
    workflowStep: job.workflow_step_id,
    payloadText: job.payload,
  };
}

function resultText(result: HandlerResult): string {
  if (result instanceof RawJson) return result.text;
  if (result === undefined || result === null) return '{}';
  const text = JSON.stringify(result) as string | undefined;
  if (text?.[0] !== '{') throw new TypeError('a handler must return an object or nothing');
  return text;
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === '' ? error.name : error.message;
  return String(error);
}
