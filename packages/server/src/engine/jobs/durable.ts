import { forbidden, leaseLost, MillraceError, notFound } from '../../domain/errors.js';
import { isUuid } from '../../domain/ids.js';
import { isTerminal } from '../../domain/job-state.js';
import type { JobCheckpoints, JsonText, Signal } from '../../domain/records.js';
import type { DurableApi, SignalDelivery, WaitPage, WaitsQuery } from '../api.js';
import type { Checkpoints } from '../durable/checkpoints.js';
import type { Signals } from '../durable/signals.js';
import type { Waits } from '../durable/waits.js';
import type { Workflows } from '../workflows/workflows.js';
import type { Owner, Reads } from './reads.js';

/** What tenants and workers see of durable jobs, and what tenants tell them. */
export class Durable implements DurableApi {
  constructor(
    private readonly reads: Reads,
    private readonly stored: Checkpoints,
    private readonly waiting: Waits,
    private readonly signals: Signals,
    private readonly workflows: Pick<Workflows, 'statusOf'>,
  ) {}

  async checkpoints(tenant: string, id: string): Promise<JobCheckpoints> {
    await this.#own(tenant, id);
    return this.#of(id.toLowerCase());
  }

  async checkpointsOfLease(id: string, token: string): Promise<JobCheckpoints> {
    if (!isUuid(id) || !(await this.reads.owner(id))) throw notFound('job');
    const lease = { id: id.toLowerCase(), token: token.toLowerCase() };
    if (!isUuid(token) || !(await this.stored.isHeld(lease))) throw leaseLost();
    return this.#of(lease.id);
  }

  signal(tenant: string, signal: Signal, idempotencyKey: string | null): Promise<SignalDelivery> {
    return this.signals.send(tenant, signal, idempotencyKey);
  }

  async signalJob(
    tenant: string,
    id: string,
    name: string,
    value: JsonText,
    idempotencyKey: string | null,
  ): Promise<SignalDelivery> {
    const { status } = await this.#own(tenant, id);
    if (isTerminal(status)) throw new MillraceError('already_finished', `the job is already ${status}`);
    const jobId = id.toLowerCase();
    return this.signals.send(tenant, { name, key: jobId, value, ttlSecs: null, jobId }, idempotencyKey);
  }

  async signalWorkflow(
    tenant: string,
    id: string,
    name: string,
    value: JsonText,
    idempotencyKey: string | null,
  ): Promise<SignalDelivery> {
    const status = await this.workflows.statusOf(tenant, id);
    if (status !== 'created' && status !== 'running')
      throw new MillraceError('already_finished', `the workflow is already ${status}`);
    const workflowId = id.toLowerCase();
    const signal = { name, key: workflowId, value, ttlSecs: null, jobId: null, workflowId };
    return this.signals.send(tenant, signal, idempotencyKey);
  }

  waits(tenant: string, query: WaitsQuery): Promise<WaitPage> {
    return this.waiting.page(tenant, query);
  }

  async #of(id: string): Promise<JobCheckpoints> {
    const [checkpoints, waits] = await Promise.all([this.stored.of(id), this.waiting.deadlines(id)]);
    return { checkpoints, waits };
  }

  async #own(tenant: string, id: string): Promise<Owner> {
    const owner = isUuid(id) ? await this.reads.owner(id) : null;
    if (!owner) throw notFound('job');
    if (owner.tenant !== tenant) throw forbidden('this job belongs to another tenant');
    return owner;
  }
}
