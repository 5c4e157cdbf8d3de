import type { JobConfig } from '@millrace/contract';
import { listIn, toInstant } from '../../store/rows.js';
import { holdInBundles, type HeldJob } from './bundle.js';
import { markClaim } from './claim-mark.js';
import { ClaimedJob, type OptionalFields } from './claimed-job.js';
import { configOf } from './known-configs.js';
import { contextKey } from './known-contexts.js';
import type { Slots } from './slots.js';

/** Reads what a claim answers: the jobs, and how the claimer holds each of them. */

/** One array per column, in JSON; the payloads as one text. */
export interface ClaimAnswer {
  readonly watched: number;
  readonly now: string;
  readonly cut: boolean;
  /** The queue has limits, and nothing was claimed because the claim did not hold its gate. */
  readonly gated: boolean;
  /** Milliseconds since 1970. */
  readonly fell_due_up_to: number | null;
  readonly moved: string | null;
  /** Only the pool's claim says. */
  readonly alone?: string | null;
  readonly ids: string | null;
  readonly tenants: string;
  readonly tasks: string;
  readonly payloads: string;
  readonly optional_fields: string | null;
  /** The numbers of the jobs that have a configuration, in JSON; `configs` is their texts as one. */
  readonly configured: string | null;
  readonly configs: string | null;
  /** The keys of the contexts, in JSON; `contexts` is their texts as one. */
  readonly context_keys: string | null;
  readonly contexts: string | null;
}

export function toJobs(
  queue: string,
  slots: Slots,
  answer: ClaimAnswer,
  contextOf: (key: string) => string,
): ClaimedJob[] {
  const ids = answer.ids === null ? [] : answer.ids.split(',');
  const tenants = listIn<string>(answer.tenants);
  const tasks = listIn<string>(answer.tasks);
  // What a remote worker is sent lives no longer than the answer that it came in.
  const payloads = slots.bundle === null ? answer.payloads.split(SEPARATOR) : splitPayloads(answer.payloads);
  const optionalFields = new Map(listIn<OptionalFields>(answer.optional_fields).map((fields) => [fields.n, fields]));
  const configs = configsIn(answer);
  const now = toInstant(answer.now);
  return ids.map((id, n) => {
    const fields = optionalFields.get(n + 1);
    const tenant = tenants[n] ?? tenants[0]!;
    const context =
      fields && fields.context !== null ? contextOf(contextKey(fields.workflow_id!, fields.context)) : null;
    const config = configs?.get(n + 1);
    return new ClaimedJob(id, tenant, queue, tasks[n]!, payloads[n]!, now, slots.holderOf(n), config, fields, context);
  });
}

/** Of the jobs that have one, by their number from 1; null if none has. */
function configsIn({ configured, configs }: ClaimAnswer): ReadonlyMap<number, JobConfig> | null {
  if (configs === null) return null;
  const texts = configs.split(SEPARATOR);
  return new Map(listIn<number>(configured).map((n, place) => [n, configOf(texts[place]!)]));
}

interface ContextKey {
  readonly workflow_id: string;
  readonly version: number;
}

/** The contexts that came with the jobs: one string each, however many of the jobs receive it. */
export function contextsIn({ context_keys: keys, contexts }: ClaimAnswer): ReadonlyMap<string, string> {
  const texts = contexts === null ? [] : splitPayloads(contexts);
  return new Map(
    listIn<ContextKey>(keys).map(({ workflow_id, version }, n) => [contextKey(workflow_id, version), texts[n]!]),
  );
}

/** No JSON text contains this character: within strings it must be escaped, and outside them it is not white space. */
const SEPARATOR = '\x01';
const LONG_ANSWER = 256 * 1024;

/** A substring keeps the whole string in memory. Therefore each payload of a long answer is copied. */
function splitPayloads(payloads: string): string[] {
  const parts = payloads.split(SEPARATOR);
  return payloads.length < LONG_ANSWER || parts.length === 1
    ? parts
    : parts.map((part) => Buffer.from(part).toString());
}

/** `alone`: the numbers, from 1, of the jobs that have their own leases although the slots have a bundle. */
export function leased(jobs: readonly ClaimedJob[], slots: Slots, alone: readonly number[]): HeldJob[] {
  const mark = slots.bundle === null ? null : markClaim(slots.bundle, jobs, slots.startable);
  const holdAlone = (job: ClaimedJob, k: number): HeldJob => {
    return { job, leaseToken: slots.tokenOf(k), bundle: null, position: 0, mark, number: k + 1 };
  };
  if (mark === null) return jobs.map(holdAlone);
  if (alone.length === 0) return holdInBundles(jobs, null, mark);
  const numbers = new Set(alone);
  const bundled = jobs.flatMap((_, k) => (numbers.has(k + 1) ? [] : [k + 1]));
  const held = [
    ...alone.map((number) => holdAlone(jobs[number - 1]!, number - 1)),
    ...holdInBundles(
      bundled.map((number) => jobs[number - 1]!),
      bundled,
      mark,
    ),
  ];
  return held.sort(byNumber);
}

const byNumber = (a: HeldJob, b: HeldJob): number => a.number - b.number;
