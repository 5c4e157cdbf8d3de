import { DurableRun } from '../durable/durable-run.js';
import type { DurableContext } from '../task/durable.js';
import type { CallContext } from '../task/types.js';
import { throughJson } from './test-context.js';

/** A durable run without a server: steps run unless they have a value, sleeps are over at once, waits get theirs. */
export function instantRun(
  checkpoints: Readonly<Record<string, unknown>>,
  signals: Readonly<Record<string, unknown>>,
  calls: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): DurableContext & CallContext {
  const values = new Map<string, unknown>(Object.entries(checkpoints));
  for (const [name, value] of Object.entries(signals)) values.set(name, { value });
  for (const [name, results] of Object.entries(calls))
    values.set(name, { children: (Array.isArray(results) ? results : [results]).map(endOf) });
  /** Every deadline is over: a sleep ends, a wait without a signal times out. */
  const deadlines = { get: () => EPOCH } as unknown as ReadonlyMap<string, string>;
  return new DurableRun({
    store: {
      load: () => Promise.resolve({ values, deadlines }),
      store: (_name, value) => Promise.resolve(throughJson(value)),
      create: (jobs) => Promise.resolve(jobs.map(() => NOBODY)),
    },
    startedAt: new Date().toISOString(),
    leftMs: () => 0,
    signal: () => signal,
  });
}

/** An error stands for a child that failed. */
const endOf = (result: unknown): object =>
  result instanceof Error
    ? { name: '', job_id: '', status: 'failed', error: result.message }
    : { name: '', job_id: '', status: 'completed', result: throughJson(result) };

/** The id of a job that is not created: its end is given with the calls. */
const NOBODY = '00000000-0000-7000-8000-000000000001';
const EPOCH = new Date(0).toISOString();
