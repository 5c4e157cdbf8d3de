import type { JobStatus } from '@millrace/contract';
import { MillraceError, notFound } from '../../domain/errors.js';
import { isUuid } from '../../domain/ids.js';
import { isTerminal } from '../../domain/job-state.js';
import { Batcher } from '../../store/batcher.js';
import type { LeaseKeeper } from '../leases/lease-keeper.js';
import type { LongPolls } from '../leases/long-poll.js';
import type { Counters } from '../shared/counters.js';
import type { Reads } from './reads.js';
import type { Settler } from '../outcomes/settle.js';
import type { LeasedJob } from '../../domain/records.js';
import type { LeaseRequest, WorkerApi } from '../api.js';

/** The protocol of remote workers. It uses the same claims and settlements as the pool. */
interface Beat {
  readonly id: string;
  readonly token: string;
  readonly extendSecs: number;
}

const BATCH = { maxItems: 1000, inFlight: 2, maxWaiting: 100_000 };

export class RemoteWorker implements WorkerApi {
  readonly #beats = new Batcher<Beat, boolean>((beats) => this.#extend(beats), BATCH);

  constructor(
    private readonly keeper: LeaseKeeper,
    private readonly polls: LongPolls,
    private readonly settler: Settler,
    private readonly reads: Reads,
    private readonly counters: Counters,
  ) {}

  lease(request: LeaseRequest, signal: AbortSignal): Promise<readonly LeasedJob[]> {
    return this.polls.lease(request, signal);
  }

  async heartbeat(id: string, token: string, extendSecs: number): Promise<JobStatus> {
    const lease = leaseOf(id, token);
    if (lease && (await this.#beats.submit({ ...lease, extendSecs }))) return 'running';
    const status = await this.#statusOf(id);
    if (isTerminal(status)) return status;
    throw this.#lost('heartbeat');
  }

  async complete(id: string, token: string, result: string): Promise<void> {
    const lease = leaseOf(id, token);
    if (lease && (await this.settler.complete({ ...lease, result }))) return;
    await this.#tooLate(id, 'complete');
  }

  async fail(id: string, token: string, error: string, retryable: boolean): Promise<void> {
    const lease = leaseOf(id, token);
    const facts = lease && (await this.settler.leaseFacts(lease.id, lease.token));
    if (facts && (await this.settler.fail({ ...lease, error, retryable, ...facts }))) return;
    await this.#tooLate(id, 'fail');
  }

  /** A report on a finished job is accepted without effect: it may repeat the one that finished it. */
  async #tooLate(id: string, operation: 'complete' | 'fail'): Promise<void> {
    if (!isTerminal(await this.#statusOf(id))) throw this.#lost(operation);
  }

  async #statusOf(id: string): Promise<JobStatus> {
    const owner = isUuid(id) ? await this.reads.owner(id) : null;
    if (!owner) throw notFound('job');
    return owner.status;
  }

  #lost(operation: 'heartbeat' | 'complete' | 'fail'): MillraceError {
    this.counters.metrics.stale(operation);
    return new MillraceError('lease_lost', 'the lease is no longer held under this token; stop working on the job');
  }

  async #extend(beats: readonly Beat[]): Promise<boolean[]> {
    const stands = await this.keeper.extend(
      beats,
      beats.map((beat) => beat.extendSecs),
    );
    return beats.map(stands);
  }
}

/** Anything but a UUID was never issued. The database answers in lower case, so what is compared must be too. */
const leaseOf = (id: string, token: string): { readonly id: string; readonly token: string } | null =>
  isUuid(id) && isUuid(token) ? { id: id.toLowerCase(), token: token.toLowerCase() } : null;
