import type { Call } from '../history/calls.js';
import type { Entry } from '../history/history.js';
import type { Step } from './model.js';

/** The history by job: each call that names the job, and each claim of it that a lease call returned. */
export function stepsByJob(entries: readonly Entry[]): ReadonlyMap<string, readonly Step[]> {
  const steps = new Map<string, Step[]>();
  const add = (job: string, step: Step): void => {
    const list = steps.get(job);
    if (list) list.push(step);
    else steps.set(job, [step]);
  };
  for (const entry of entries) {
    const { call, answer } = entry;
    for (const job of answer?.created ?? []) if (!steps.has(job)) steps.set(job, []);
    for (const { job, ...claim } of answer?.claims ?? []) {
      add(job, { kind: 'claim', ...timesOf(entry), secs: call.secs ?? 30, ...claim });
    }
    const step = call.job === undefined ? null : toStep(entry);
    if (call.job !== undefined && step !== null) add(call.job, step);
  }
  return steps;
}

function toStep(entry: Entry): Step | null {
  const { call, answer } = entry;
  const common = { ...timesOf(entry), status: answer?.status ?? null };
  const { token = '', secs = 30, retryable = true } = call;
  switch (call.op) {
    case 'complete':
      return { kind: 'complete', token, ...common };
    case 'fail':
      return { kind: 'fail', token, retryable, ...common };
    case 'heartbeat':
      return { kind: 'heartbeat', token, secs, seen: answer?.seen?.status ?? null, ...common };
    case 'cancel':
      return { kind: 'cancel', ...common };
    case 'get': {
      const { status = null, retries = 0, deliveries = 0 } = answer?.seen ?? {};
      return { kind: 'get', seen: status, retries, deliveries, ...common };
    }
    case 'create':
    case 'batch':
    case 'lease':
    case 'other':
      return null;
  }
}

/** Like a missing answer, a 5xx leaves open whether the call took effect; the effect may even come later. */
function timesOf({ call, answer }: Entry): Pick<Step, 'startedAt' | 'endedAt' | 'certain'> {
  const certain = answer !== null && isDefinite(answer.status);
  return { startedAt: call.startedAt, endedAt: certain ? answer.endedAt : Infinity, certain };
}

export const isDefinite = (status: number | null): boolean => status !== null && status < 500;

/** Queues with lease calls that may have claimed a job without telling anyone. */
export const lostLeases = (entries: readonly Entry[]): ReadonlySet<string> =>
  new Set(
    entries
      .filter(({ call, answer }) => call.op === 'lease' && !isDefinite(answer?.status ?? null))
      .map(({ call }: { readonly call: Call }) => call.queue ?? ''),
  );
