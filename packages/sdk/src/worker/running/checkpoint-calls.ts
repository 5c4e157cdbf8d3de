import type { CheckpointStore, Stored } from '../../durable/durable-run.js';
import { MillraceError } from '../../errors/call-errors.js';
import { LeaseLost, NonRetryableError } from '../../errors/handler-errors.js';
import { pause } from '../../http/deadline.js';
import type { CallRequest, Transport } from '../../http/transport.js';
import type { Checkpoints, ChildJob, ChildrenCreated, StoredCheckpoint } from '../../wire/index.js';
import type { AssumedFeatures } from '../calls/assumed-features.js';
import { retryAfterMs } from '../calls/calls.js';
import type { HeldJob } from '../leases/held-jobs.js';

const FIRST_PAUSE_MS = 250;
const MOST_PAUSE_MS = 2_000;

/** The checkpoints of a job that a worker holds. Calls are repeated for as long as the lease is held. */
export class CheckpointCalls implements CheckpointStore {
  constructor(
    private readonly transport: Transport,
    private readonly features: AssumedFeatures,
    private readonly held: HeldJob,
    /** As if a heartbeat had said so: nothing more is reported. */
    private readonly lose: () => void,
  ) {}

  /** A first delivery has nothing to load. */
  async load(): Promise<Stored> {
    if (!(await this.features.isKnown('durable'))) throw olderServer();
    const { job, lease } = this.held;
    if (job.attempt <= 1 && job.metadata.kept_checkpoints === undefined) return NOTHING;
    const { checkpoints, waits } = await this.#call<Checkpoints>({
      method: 'GET',
      path: `/jobs/${lease.jobId}/checkpoints`,
      headers: { 'Lease-Token': lease.token },
    });
    return {
      values: new Map(checkpoints.map(({ name, value }) => [name, value])),
      deadlines: new Map(waits.map(({ name, until }) => [name, until])),
    };
  }

  async store(name: string, value: unknown): Promise<unknown> {
    const { lease } = this.held;
    const body = { lease_token: lease.token, name, value };
    try {
      const path = `/jobs/${lease.jobId}/checkpoints`;
      return (await this.#call<StoredCheckpoint>({ method: 'POST', path, body })).value;
    } catch (error) {
      if (!isRefused(error)) throw error;
      throw new NonRetryableError(`the step ${JSON.stringify(name)} cannot be kept: ${error.message}`, {
        cause: error,
      });
    }
  }

  async create(jobs: readonly ChildJob[]): Promise<readonly string[]> {
    const { lease } = this.held;
    try {
      const body = { lease_token: lease.token, jobs };
      const path = `/jobs/${lease.jobId}/children`;
      return (await this.#call<ChildrenCreated>({ method: 'POST', path, body })).job_ids;
    } catch (error) {
      if (!isRefused(error)) throw error;
      const names = jobs.map(({ name }) => JSON.stringify(name));
      const what = names.length === 1 ? names[0] : `${names[0]} and ${names.length - 1} more`;
      throw new NonRetryableError(`${what} cannot be called: ${error.message}`, { cause: error });
    }
  }

  async #call<T>(request: CallRequest): Promise<T> {
    const { signal } = this.held.stop;
    for (let failures = 0; ; failures++) {
      try {
        return (await this.transport.call<T>({ ...request, signal })).body;
      } catch (error) {
        if (signal.aborted) throw signal.reason as Error;
        if (!(error instanceof MillraceError)) throw error;
        if (error.code === 'lease_lost' || error.code === 'not_found') {
          this.lose();
          throw new LeaseLost('the job was given to another worker', { cause: error });
        }
        if (error.status !== null && error.status < 500) throw error;
        const waitMs = retryAfterMs(error) ?? Math.min(FIRST_PAUSE_MS * 2 ** failures, MOST_PAUSE_MS);
        await pause(waitMs, signal);
        if (signal.aborted) throw signal.reason as Error;
      }
    }
  }
}

const NOTHING: Stored = { values: new Map(), deadlines: new Map() };

const isRefused = (error: unknown): error is MillraceError =>
  error instanceof MillraceError && (error.code === 'payload_too_large' || error.code === 'invalid_request');

/** Not for good: the server will be upgraded, and the job can wait for that. */
const olderServer = (): Error => new Error('this server knows no durable jobs; it is older than the SDK');
