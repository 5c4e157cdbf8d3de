import { silentLogger } from '../shared/logger.js';
import { Millrace } from '../client/millrace.js';
import type { JsonObject } from '../json/object.js';
import type { Handler, JobContext, Task } from '../task/types.js';
import { FakeServer } from './fake-server.js';
import { instantRun } from './instant-run.js';
import { testContext, throughJson, type Recording } from './test-context.js';

/** What the handler under test finds in its context. */
export interface RunOptions {
  /** Which delivery it is to be; default 1. */
  attempt?: number;
  signal?: AbortSignal;
  metadata?: JsonObject;
  /** What earlier attempts have stored, by step. */
  checkpoints?: Readonly<Record<string, unknown>>;
  /** What its waits get, by their name; none: they time out. Sleeps are over at once. */
  signals?: Readonly<Record<string, unknown>>;
  /**
   * What its calls get, by their name: a result, a list of them for `callAll`, an Error for one that failed. None: they
   * time out.
   */
  calls?: Readonly<Record<string, unknown>>;
}

/** What a handler returned, and what it said on the way. */
export interface Run<Out> extends Recording {
  readonly result: Out;
}

/**
 * Runs a handler as a worker would, without any server: the input is validated, input and result go through JSON. What
 * it enqueues goes to a fake server of its own. Rejects with what the handler throws.
 *
 * @example const { result } = await runHandler(resizeHandler, { image: 7 });
 */
export async function runHandler<Out = JsonObject>(
  handler: Handler,
  input: unknown,
  {
    attempt = 1,
    signal = new AbortController().signal,
    metadata = {},
    checkpoints = {},
    signals = {},
    calls = {},
  }: RunOptions = {},
): Promise<Run<Out>> {
  const payload = throughJson(input ?? {}) as JsonObject;
  const recording: Recording = { progress: [], logs: [] };
  const client = new Millrace({ ...new FakeServer().options, logger: silentLogger });
  const job = {
    id: '00000000-0000-7000-8000-000000000000',
    task: handler.task,
    queue: handler.queue,
    tenant: 'tenant1',
    attempt,
    retryCount: attempt - 1,
    metadata,
    workflow: null,
    payloadText: JSON.stringify(payload),
  };
  const enqueue: JobContext['enqueue'] = (task, ...args) => client.enqueue(task, ...args);
  const durable = instantRun(checkpoints, signals, calls, signal);
  handler.batch?.expect(1);
  const result = await handler.run(payload, testContext(job, recording, signal, enqueue, durable));
  return { result: throughJson(result) as Out, ...recording };
}

/**
 * Runs the code of a task as a worker would, without any server.
 *
 * @example
 * const { result } = await runTask(sendWelcome, async ({ locale }) => ({ messageId: locale }), { userId: 1 });
 */
export function runTask<In, Parsed, Out>(
  task: Task<string, In, Parsed, Out>,
  run: (input: Parsed, ctx: JobContext) => Out | Promise<Out>,
  input: In,
  options?: RunOptions,
): Promise<Run<Out>> {
  return runHandler<Out>(task.handle(run), input, options);
}
