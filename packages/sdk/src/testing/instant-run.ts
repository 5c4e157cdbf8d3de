import { DurableRun } from '../durable/durable-run.js';
import type { DurableContext } from '../task/durable.js';
import { throughJson } from './test-context.js';

/** A durable run without a server: steps run unless they have a value, sleeps are over at once, waits get theirs. */
export function instantRun(
  checkpoints: Readonly<Record<string, unknown>>,
  signals: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): DurableContext {
  const values = new Map<string, unknown>(Object.entries(checkpoints));
  for (const [name, value] of Object.entries(signals)) values.set(name, { value });
  /** Every deadline is over: a sleep ends, a wait without a signal times out. */
  const deadlines = { get: () => EPOCH } as unknown as ReadonlyMap<string, string>;
  return new DurableRun({
    store: {
      load: () => Promise.resolve({ values, deadlines }),
      store: (_name, value) => Promise.resolve(throughJson(value)),
    },
    startedAt: new Date().toISOString(),
    leftMs: () => 0,
    signal: () => signal,
  });
}

const EPOCH = new Date(0).toISOString();
