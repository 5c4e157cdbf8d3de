import type { JsonObject } from '../json/object.js';
import type { DurableContext } from '../task/durable.js';
import type { Logger } from '../shared/logger.js';
import { effectKey, once } from '../task/once.js';
import type { CallContext, JobContext, RunningJob } from '../task/types.js';

/** What a handler under test said. */
export interface Recording {
  readonly progress: JsonObject[];
  readonly logs: string[];
}

/** A context that records. */
export function testContext(
  job: RunningJob,
  recording: Recording,
  signal: AbortSignal,
  enqueue: JobContext['enqueue'],
  durable: DurableContext & CallContext,
): JobContext {
  const line =
    (level: string) =>
    (message: string, fields?: JsonObject): void => {
      recording.logs.push(`${level}: ${message}${fields === undefined ? '' : ` ${JSON.stringify(fields)}`}`);
    };
  const log: Logger = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  return {
    job,
    signal,
    log,
    leased: () => !signal.aborted,
    progress: (value) => void recording.progress.push(throughJson(value)),
    lastProgress: null,
    enqueue,
    step: durable.step,
    sleep: durable.sleep,
    waitFor: durable.waitFor,
    call: durable.call,
    callAll: durable.callAll,
    key: (name) => effectKey(job, name),
    once: (tx, name, effect) => once(tx, effectKey(job, name), effect),
  };
}

/** What is left of a value once it has been sent. */
export function throughJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
