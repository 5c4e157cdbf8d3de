import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Handler } from '@millrace/sdk';
import { Worker, type WorkerEvent } from '@millrace/sdk/worker';
import { connect } from '../connection/connect.js';
import type { Context, Run } from '../invocation/context.js';
import type { worker as spec } from '../specs/local.js';
import { plain } from '../terminal/plain.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { duration, wholeNumber } from '../invocation/values.js';

type Options = (typeof spec)['options'];

const DEFAULT_CONCURRENCY = 10;
const MOST_SLOTS = 10_000;

/** Runs the handlers that a module exports, until it is told to stop. */
export const worker: Run<Options> = async (context) => {
  const { args, io, options, signal } = context;
  const lease = duration('lease', options.lease);
  const shutdown = duration('shutdown', options.shutdown);
  const { target, millrace } = connect(context);
  const handlers = await handlersOf(args[0] ?? '');
  const queues = queuesOf(context, handlers);
  const tell = (text: string): void => io.complain(`${plain(text)}\n`);
  const running = new Worker({
    url: target.url.value,
    token: target.workerToken.value,
    client: millrace,
    queues,
    handlers,
    ...(lease !== undefined && { lease }),
    ...(shutdown !== undefined && { shutdown }),
    ...(options.name !== undefined && { name: options.name }),
    logger: { debug: () => undefined, info: () => undefined, warn: tell, error: tell },
    onEvent: (event) => {
      const line = lineOf(event);
      if (line !== null) tell(line);
    },
  });
  const served = Object.entries(queues).map(([queue, count]) => `${queue} (${count})`);
  tell(`running ${handlers.map(({ task }) => task).join(', ')} on ${served.join(', ')}; Ctrl-C stops it`);
  signal.addEventListener('abort', () => void running.stop(), { once: true });
  await running.run();
  return EXIT.ok;
};

/** Every handler that the module exports, by itself or in an array. */
async function handlersOf(file: string): Promise<Handler[]> {
  if (!existsSync(file)) throw new Misuse('FILE cannot be read');
  const handlers = [...new Set(Object.values(await loaded(file)).flat())].filter(isHandler);
  if (handlers.length > 0) return handlers;
  throw new Misuse('FILE exports no handlers; export what task.handle(…) returns');
}

/** Whoever wrote the module wants to know where it failed. */
async function loaded(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const place = /file:\/\/[^\s)]+?:\d+/.exec(error.stack ?? '')?.[0];
    throw new Error(`FILE cannot be loaded: ${error.message}${place === undefined ? '' : ` (${place})`}`);
  }
}

function isHandler(value: unknown): value is Handler {
  return (
    typeof value === 'object' && value !== null && 'task' in value && typeof value.task === 'string' && 'run' in value
  );
}

/** Those of the command line, or the queues that the tasks name. */
function queuesOf(
  { options }: Pick<Context<Options>, 'options'>,
  handlers: readonly Handler[],
): Record<string, number> {
  const each = wholeNumber('concurrency', options.concurrency, 1, MOST_SLOTS) ?? DEFAULT_CONCURRENCY;
  if (options.queue.length === 0) return Object.fromEntries(handlers.map((handler) => [handler.queue, each]));
  return Object.fromEntries(
    options.queue.map((text) => {
      const [, name = '', count] = /^(.*?)(?:=(\d+))?$/su.exec(text) ?? [];
      return [name, wholeNumber('queue', count, 1, MOST_SLOTS) ?? each];
    }),
  );
}

function lineOf(event: WorkerEvent): string | null {
  if (!('job' in event)) return event.type === 'draining' ? 'stopping; a second signal gives jobs back at once' : null;
  if (event.type === 'started') return null;
  const { job, ms, error } = event;
  const reason = error instanceof Error ? `: ${error.message}` : '';
  const took = ms === undefined ? '' : ` in ${Math.round(ms)} ms`;
  return `${event.type} ${job.task} ${job.id} attempt ${job.attempt}${took}${reason}`;
}
