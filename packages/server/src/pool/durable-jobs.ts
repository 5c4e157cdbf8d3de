import {
  CallOrdinals,
  DurableRun,
  effectKey,
  NonRetryableError,
  type Call,
  type CheckpointStore,
  type ChildJob,
  type Stored,
  type Suspension as Wait,
} from '@millrace/sdk/durable';
import { isUnavailable, MillraceError } from '../domain/errors.js';
import type { ChildSpec, JsonText, Suspension } from '../domain/records.js';
import type { Checkpoints } from '../engine/durable/checkpoints.js';
import type { Children } from '../engine/durable/children.js';
import type { Suspender } from '../engine/durable/suspender.js';
import type { Waits } from '../engine/durable/waits.js';
import type { HeldJob } from '../engine/leases/bundle.js';
import type { LeaseKey } from '../engine/leases/lease-key.js';
import type { HeldLeases } from './held-leases.js';
import { pause } from './pause.js';

/**
 * What makes in-process handlers durable: the rules are those of the SDK's worker, and this keeps what they store. A
 * job that uses any of it leaves its bundle first, since checkpoints stand under the lease of their job.
 */
export interface DurableEngine {
  readonly checkpoints: Pick<Checkpoints, 'store' | 'of'>;
  readonly waits: Pick<Waits, 'deadlines'>;
  readonly children: Pick<Children, 'create'>;
  readonly suspender: Pick<Suspender, 'suspend'>;
}

/** Reads what handlers ask for by the rules for requests. Throws MillraceError. */
export interface HandlerRequests {
  checkpoint(name: string, value: unknown): JsonText;
  children(jobs: readonly ChildJob[]): ChildSpec[];
  suspension(wait: Wait): Suspension;
}

/** The attempt of a durable job, as far as it matters here. */
export interface DurableAttempt {
  readonly leased: HeldJob;
  readonly signal: AbortSignal;
  /** How much longer it may take. */
  leftMs(): number;
  lose(): void;
}

const RETRY_MS = 1_000;

export class DurableJobs {
  constructor(
    private readonly engine: DurableEngine,
    private readonly requests: HandlerRequests,
    private readonly heldLeases: Pick<HeldLeases, 'separate'>,
  ) {}

  begin(attempt: DurableAttempt): DurableHandler {
    return new DurableHandler(attempt, new AttemptStore(this.engine, this.requests, this.heldLeases, attempt));
  }

  /** What a job is suspended with. Throws MillraceError if that cannot be. */
  suspensionOf(wait: Wait): Suspension {
    return this.requests.suspension(wait);
  }

  /** False: the lease is gone. */
  suspend(held: HeldJob, suspension: Suspension): Promise<boolean> {
    return this.engine.suspender.suspend(leaseOf(held), suspension);
  }
}

/** The durable part of one attempt. */
export class DurableHandler {
  readonly run: DurableRun;
  readonly #ordinals = new CallOrdinals();

  constructor(attempt: DurableAttempt, store: CheckpointStore) {
    const { job } = attempt.leased;
    this.run = new DurableRun({
      store,
      startedAt: job.started_at ?? job.created_at,
      leftMs: () => attempt.leftMs(),
      signal: () => attempt.signal,
    });
  }

  async enqueue(call: Call<unknown>): Promise<{ readonly id: string }> {
    return { id: await this.run.enqueue(call, this.#ordinals.next()) };
  }
}

/** The same in every attempt, and in replays. */
export const durableKey = ({ job: { id, metadata } }: HeldJob, name: string): string =>
  effectKey({ id, metadata: JSON.parse(metadata) as Record<string, unknown> }, name);

class AttemptStore implements CheckpointStore {
  constructor(
    private readonly engine: DurableEngine,
    private readonly requests: HandlerRequests,
    private readonly heldLeases: Pick<HeldLeases, 'separate'>,
    private readonly attempt: DurableAttempt,
  ) {}

  /** A first delivery has nothing to load, unless it is a copy that kept something. */
  async load(): Promise<Stored> {
    const { id, delivery_count: deliveries, metadata } = this.attempt.leased.job;
    if (deliveries <= 1 && !metadata.includes('"kept_checkpoints"')) return { values: new Map(), deadlines: new Map() };
    const { checkpoints, waits } = this.engine;
    const [stored, deadlines] = await this.#repeat(() => Promise.all([checkpoints.of(id), waits.deadlines(id)]));
    return {
      values: new Map(stored.map(({ name, value }) => [name, JSON.parse(value) as unknown])),
      deadlines: new Map(deadlines.map(({ name, until }) => [name, until])),
    };
  }

  async store(name: string, value: unknown): Promise<unknown> {
    const what = `the step ${JSON.stringify(name)} cannot be kept`;
    const text = named(what, () => this.requests.checkpoint(name, value));
    const { checkpoints } = this.engine;
    const standing = await this.#underLease(what, (lease) => checkpoints.store({ ...lease, name, value: text }));
    return JSON.parse(standing.value) as unknown;
  }

  create(jobs: readonly ChildJob[]): Promise<readonly string[]> {
    const [first] = jobs;
    const what = `${JSON.stringify(first?.name)}${jobs.length > 1 ? ` and ${jobs.length - 1} more` : ''} cannot be called`;
    const children = named(what, () => this.requests.children(jobs));
    return this.#underLease(what, (lease) => this.engine.children.create(lease, children));
  }

  async #underLease<T>(what: string, act: (lease: LeaseKey) => Promise<T | null>): Promise<T> {
    const { leased } = this.attempt;
    try {
      const done = await this.#repeat(async () => {
        await this.heldLeases.separate(leased);
        return act(leaseOf(leased));
      });
      if (done !== null) return done;
    } catch (error) {
      throw refusalOf(what, error);
    }
    this.attempt.lose();
    throw new Error('the job was cancelled or its lease was lost');
  }

  /** A step that has run is not to run again because the database was away for a moment. */
  async #repeat<T>(act: () => Promise<T>): Promise<T> {
    const { signal } = this.attempt;
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (!isUnavailable(error) || signal.aborted) throw error;
        await pause(RETRY_MS);
        if (signal.aborted) throw signal.reason as Error;
      }
    }
  }
}

const leaseOf = ({ job, leaseToken }: HeldJob): LeaseKey => ({ id: job.id, token: leaseToken });

function named<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refusalOf(what, error);
  }
}

/** What is refused would be refused again. */
const refusalOf = (what: string, error: unknown): unknown =>
  error instanceof MillraceError && !isUnavailable(error)
    ? new NonRetryableError(`${what}: ${error.message}`, { cause: error })
    : error;
