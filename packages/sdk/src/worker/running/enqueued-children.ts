import type { Hooks } from '../../client/options.js';
import { CallOrdinals } from '../../durable/call-ordinals.js';
import type { DurableRun } from '../../durable/durable-run.js';
import { MillraceError } from '../../errors/call-errors.js';
import type { JsonObject } from '../../json/object.js';
import type { EnqueueOptions } from '../../task/policy.js';
import type { AnyTask, Args, InOf, JobContext, JobHandle, OutOf, RunningJob } from '../../task/types.js';
import type { ChildClient } from '../options.js';

export interface EnqueueOwner {
  readonly client: ChildClient | undefined;
  readonly hooks: Hooks;
  /** Whether the server lets a worker create jobs in the name of one that it runs. */
  createsChildren(): Promise<boolean>;
}

/**
 * Creates jobs as children of this one, which need not wait for them, once per ordinal of the call within its step, or
 * outside of steps: another attempt that makes the same calls in the same order creates none of them twice.
 *
 * What the worker's token may not create, and jobs that are to have a key, go through the client: then the key is made
 * of this job's id and the same ordinal.
 */
export function enqueuedChildren(
  job: RunningJob,
  durable: () => DurableRun,
  owner: EnqueueOwner,
): JobContext['enqueue'] {
  const ordinals = new CallOrdinals();
  const { client, hooks } = owner;
  let allowed: Promise<void> | undefined;
  const byClient = async <T extends AnyTask>(
    task: T,
    input: JsonObject,
    options: EnqueueOptions,
    cause?: Error,
  ): Promise<JobHandle<OutOf<T>>> => {
    if (client === undefined) throw cause ?? new Error(`ctx.enqueue needs a client here: ${CLIENT}`);
    await (allowed ??= allow(job, client));
    return client.enqueue(task, ...([input, options] as unknown as Args<InOf<T>>));
  };
  return async <T extends AnyTask>(task: T, ...args: Args<InOf<T>>): Promise<JobHandle<OutOf<T>>> => {
    const [input = {}, options = {}] = args as [JsonObject?, EnqueueOptions?];
    const ordinal = ordinals.next();
    const keyed = { key: `${job.id}:${ordinal}`, ...options };
    if (options.key !== undefined || !(await owner.createsChildren())) return byClient(task, input, keyed);
    const given = options.metadata ?? {};
    const metadata = { ...given, ...hooks.onEnqueue?.({ task: task.name, metadata: given }) };
    try {
      const id = await durable().enqueue({ task, input, options: { ...options, metadata } }, ordinal);
      return client?.jobs?.handle(task, id) ?? unreadable(id);
    } catch (error) {
      if (!(error instanceof MillraceError) || error.status !== 403) throw error;
      return byClient(task, input, keyed, error);
    }
  };
}

const CLIENT = 'new Worker({ client: new Millrace() }), with the token of a tenant';

async function allow(job: RunningJob, client: ChildClient): Promise<void> {
  const { tenant } = await client.whoami();
  if (tenant === job.tenant) return;
  throw new Error(`the job belongs to the tenant ${job.tenant}, but the worker's client creates jobs for another`);
}

/** The token of a worker creates children, but cannot look at them. */
function unreadable<Out>(id: string): JobHandle<Out> {
  const refuse = (): Promise<never> => Promise.reject(new Error(`looking at a job needs a client: ${CLIENT}`));
  return {
    ...{ id, get: refuse, result: refuse, cancel: refuse },
    watch: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
  };
}
