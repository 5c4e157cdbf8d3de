import type { JobCheckpoints, JsonText, Signal, WaitRecord } from '../../domain/records.js';
import type { CursorQuery } from './lists.js';

export interface SignalDelivery {
  /** False: nobody waits for it; it is stored. */
  readonly delivered: boolean;
  readonly replayed: boolean;
}

export interface WaitsQuery extends CursorQuery {
  readonly name: string | null;
  readonly key: string | null;
  /** Only those that ask a person something. */
  readonly asks: boolean;
}

export interface WaitPage {
  readonly waits: readonly WaitRecord[];
  readonly nextCursor: string | null;
}

/** What durable jobs have stored and wait for. */
export interface DurableApi {
  checkpoints(tenant: string, id: string): Promise<JobCheckpoints>;
  /** For the worker that holds the job. */
  checkpointsOfLease(id: string, token: string): Promise<JobCheckpoints>;
  signal(tenant: string, signal: Signal, idempotencyKey: string | null): Promise<SignalDelivery>;
  /** To one job, which need not wait for it yet. */
  signalJob(tenant: string, id: string, name: string, value: JsonText, key: string | null): Promise<SignalDelivery>;
  /** To the steps of a workflow, of which none need wait for it yet. */
  signalWorkflow(
    tenant: string,
    id: string,
    name: string,
    value: JsonText,
    key: string | null,
  ): Promise<SignalDelivery>;
  /** Jobs that wait for signals, the newest first. */
  waits(tenant: string, query: WaitsQuery): Promise<WaitPage>;
}
