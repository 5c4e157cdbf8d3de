import { randomUUID } from 'node:crypto';
import {
  Millrace,
  silentLogger,
  task,
  type AnyTask,
  type Handler,
  type JobContext,
  type JsonObject,
  type Logger,
} from '@millrace/sdk';
import { Worker, type WorkerEvent, type WorkerOptions } from '@millrace/sdk/worker';
import { onTestFinished } from 'vitest';
import { KEY_A, useTestServer, WORKER_TOKEN, type TestServer } from '../../../server/test/support/server.js';

export { ADMIN_TOKEN, KEY_B } from '../../../server/test/support/server.js';
export { until } from '../../../server/test/support/until.js';

/** A real server without a pool of its own, and what a test needs to run a worker for it. */
export interface WorkerKit {
  readonly server: TestServer;
  readonly millrace: Millrace;
  /** A worker on the queue of these handlers, running until the test ends. */
  readonly start: (handlers: readonly Handler[], options?: Partial<WorkerOptions>) => RunningWorker;
}

export interface RunningWorker {
  readonly worker: Worker;
  readonly running: Promise<unknown>;
  readonly events: WorkerEvent[];
  /** Paths of the calls that it has made, heartbeats included. */
  readonly calls: string[];
}

export async function useWorkerKit(): Promise<WorkerKit> {
  const server = await useTestServer({ config: { mode: 'api' } });
  return {
    server,
    millrace: new Millrace({ url: server.url, token: KEY_A, logger: silentLogger }),
    start: (handlers, options = {}) => {
      const events: WorkerEvent[] = [];
      const calls: string[] = [];
      const { fetch = globalThis.fetch, ...rest } = options;
      const worker = new Worker({
        url: server.url,
        token: WORKER_TOKEN,
        queues: Object.fromEntries(handlers.map(({ queue }) => [queue, 4])),
        handlers,
        // Longer than any test: one that ran out on a machine that is held up would be lost, or extended.
        lease: '1h',
        signals: false,
        logger: silentLogger,
        onEvent: (event) => events.push(event),
        fetch: (input, init) => {
          calls.push(pathOf(input));
          return fetch(input, init);
        },
        ...rest,
      });
      const running = worker.run();
      // A test that expects a rejection awaits it as well.
      running.catch(() => undefined);
      onTestFinished(() => worker.stop({ timeout: '0s' }));
      return { worker, running, events, calls };
    },
  };
}

/** A task on a queue of its own. Jobs that fail stay where they are for an hour. */
export const freshTask = (name: string, policy: JsonObject = {}): AnyTask =>
  task({ name, queue: `${name}-${randomUUID()}`, retries: { delay: '1h' }, ...policy });

/** The path of a call, without the prefix. */
export const pathOf = (input: string | URL | Request): string =>
  new URL(input instanceof Request ? input.url : input).pathname.replace('/api/v1', '');

/** Something that a test lets happen. */
export function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Resolves when the signal fires, to its reason. */
export const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });

/**
 * A handler that ends with `until`, and what asks for a heartbeat of its job: by itself a worker sends none before half
 * the lease is over, and a lease that is short enough to wait for that is lost on a machine that stands still.
 */
export function beating(
  of: AnyTask,
  until: (context: JobContext) => Promise<unknown>,
): { readonly handler: Handler; readonly beat: () => void } {
  let beats = 0;
  let context: JobContext | undefined;
  const handler = of.handle(async (_, given) => {
    context = given;
    await until(given);
  });
  return { handler, beat: () => context?.progress({ beats: ++beats }) };
}

/** A logger that keeps what it was told, without the fields. */
export function recordingLogger(): {
  readonly logger: Logger;
  readonly lines: { readonly level: keyof Logger; readonly message: string }[];
} {
  const lines: { level: keyof Logger; message: string }[] = [];
  const keep =
    (level: keyof Logger) =>
    (message: string): void =>
      void lines.push({ level, message });
  return { logger: { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') }, lines };
}
